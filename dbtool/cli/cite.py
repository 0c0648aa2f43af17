"""The command that prints how to cite the data."""

import sys

from dbtool.cli.options import Database, Release

PAPER = """\
@article{shallue2019measuring,
  title = {Measuring the Effects of Data Parallelism on Neural Network Training},
  author = {Shallue, Christopher J. and Lee, Jaehoon and Antognini, Joseph and
            Sohl-Dickstein, Jascha and Frostig, Roy and Dahl, George E.},
  journal = {Journal of Machine Learning Research},
  volume = {20},
  number = {112},
  pages = {1--49},
  year = {2019},
}
"""


def command(db: Database = None, release: Release = None) -> None:
    """Print BibTeX entries for the releases the database holds.

    The paper that measured the published release comes first.

    Example: dbtool cite >> references.bib
    """
    from dbtool.cli.database import query, reading
    from dbtool.cli.names import check_release

    with reading(db) as connection:
        check_release(connection, release)
        rows = connection.execute(query("cite"), {"release": release}).fetchall()
    entries = {PAPER.strip(): None} | {str(row[0]).strip(): None for row in rows}
    sys.stdout.write("\n\n".join(entries) + "\n")
