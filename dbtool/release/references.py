"""BibTeX entries for citing releases, the papers behind them and this program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbtool import __version__
from dbtool.sources.archive.published import CITATION
from dbtool.store.questions import index_question

if TYPE_CHECKING:
    from dbtool.store.releases import Releases

_KEY = re.compile(r"@\w+\s*\{\s*([^,\s]+)")
_SPARSITY_PAPER = """\
@inproceedings{lee2021understanding,
  title = {Understanding the effects of data parallelism and sparsity on neural network training},
  author = {Lee, Namhoon and Ajanthan, Thalaiyasingam and Torr, Philip H. S. and Jaggi, Martin},
  booktitle = {International Conference on Learning Representations},
  year = {2021},
  url = {https://openreview.net/forum?id=rsogjAnYs4z},
}
"""
_SOFTWARE = f"""\
@misc{{dbtool,
  title = {{dbtool: a database of training measurements across batch sizes}},
  author = {{{{The dbtool authors}}}},
  note = {{Version {__version__}}},
}}
"""


def bibtex(db: Releases, release: str | None = None) -> str:
    """Return the BibTeX entries of the papers and this program, then those of releases.

    BibTeX rejects repeated keys, so only the first of the entries with the same key is returned.

    Args:
        db: the releases.
        release: the release to cite; None for all.
    """
    own = [citation for (citation,) in db.result(index_question("cite", release=release))]
    entries: dict[str, str] = {}
    for entry in map(str.strip, [CITATION, _SPARSITY_PAPER, _SOFTWARE, *own]):
        key = _KEY.search(entry)
        entries.setdefault(key[1] if key else entry, entry)
    return "\n\n".join(entries.values())
