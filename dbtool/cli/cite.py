"""The command that prints how to cite the data."""

import re
from typing import TYPE_CHECKING

import typer

from dbtool import __version__
from dbtool.cli import options
from dbtool.cli.database import reading
from dbtool.sources.archive.published import CITATION
from dbtool.store.questions import listed

if TYPE_CHECKING:
    from dbtool.store.database import Database

_KEY = re.compile(r"@\w+\s*\{\s*([^,\s]+)")
SPARSITY_PAPER = """\
@inproceedings{lee2021understanding,
  title = {Understanding the effects of data parallelism and sparsity on neural network training},
  author = {Lee, Namhoon and Ajanthan, Thalaiyasingam and Torr, Philip H. S. and Jaggi, Martin},
  booktitle = {International Conference on Learning Representations},
  year = {2021},
  url = {https://openreview.net/forum?id=rsogjAnYs4z},
}
"""
SOFTWARE = f"""\
@misc{{dbtool,
  title = {{dbtool: a database of training measurements across batch sizes}},
  author = {{{{The dbtool authors}}}},
  note = {{Version {__version__}}},
}}
"""


def command(db: options.Database = None, release: options.Release = None) -> None:
    """Print BibTeX entries for the releases.

    First the paper that measured the archive of 2018, then the one that did so for sparse networks,
    then this program, and last what the releases themselves give.

    Example: dbtool cite >> references.bib
    """
    with reading(db, release) as database:
        typer.echo(bibtex(database, release))


def bibtex(database: "Database", release: str | None) -> str:
    """The entries, as one text.

    Args:
        database: the releases.
        release: the one to cite; None: all.
    """
    own = [citation for (citation,) in database.result(listed("cite", release=release))]
    entries = [CITATION, SPARSITY_PAPER, SOFTWARE, *own]
    return "\n\n".join(_one_a_key([entry.strip() for entry in entries]))


def _one_a_key(entries: list[str]) -> list[str]:
    """The first of the entries with each key, as BibTeX takes no key twice."""
    first: dict[str, str] = {}
    for entry in entries:
        key = _KEY.search(entry)
        first.setdefault(key[1] if key else entry, entry)
    return list(first.values())
