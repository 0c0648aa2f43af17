"""A database of loss measurements taken during training, and the tools around it.

>>> import dbtool
>>> with dbtool.open() as db:
...     db.releases()["release"].to_list()
['measured']

`dbtool.open` opens a database to read: see `dbtool.api` for what can be asked of it. Importing this
package imports no more than the standard library; DuckDB and Polars come with the first `open`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    import os

    from dbtool.api.database import Database

__all__ = ["DbtoolError", "UsageError", "__version__", "open"]

__version__ = "0.1.0"


def open(  # noqa: A001 (named like gzip.open and its like, and called as dbtool.open)
    path: str | os.PathLike[str] | None = None, *, release: str | None = None
) -> Database:
    """Opens a database to read.

    It can be read by any number of processes at once, also while one of them loads more: it is
    seen as it was when it was opened.

    Args:
        path: the database's file, or the URL or folder of a published release, of which queries
            fetch the parts that they need; None: as the command line, the one that DBTOOL_DB names,
            the one in the user's data folder, or the release that ships with dbtool, which is
            loaded once into the user's cache.
        release: the release that questions are about unless they name another; None: all.

    Raises:
        UsageError: there is no such database or release.
        DbtoolError: the database cannot be opened.

    Example:
        >>> db = dbtool.open(release="measured")
        >>> "mnist/fc_64_64_64/sgd" in db.workloads()["workload"]
        True
        >>> db.close()
    """
    from dbtool.api.opening import open_database

    return open_database(path, release=release)
