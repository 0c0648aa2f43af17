"""A database of loss measurements taken during training, and the tools around it.

>>> import dbtool
>>> with dbtool.open() as db:
...     "replication" in db.releases()["release"]
True

`dbtool.open` opens releases to read: see `dbtool.Database` for what can be asked of them.
Importing this package imports no more than the standard library; DuckDB and Polars come with the
first `open`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    import os

    from dbtool import callbacks
    from dbtool.database import Database
    from dbtool.release.difference import diff
    from dbtool.release.forget import forget
    from dbtool.release.publish import publish
    from dbtool.release.pull import pull
    from dbtool.release.verify import verify
    from dbtool.report.scaling import scaling_of_table
    from dbtool.sources.archive.published import fetch
    from dbtool.sources.archive.source import import_archive
    from dbtool.sources.ingest import ingest
    from dbtool.sources.public.catalog import fetch_source, import_source
    from dbtool.sources.recorder import record

__all__ = [
    "Database",
    "DbtoolError",
    "UsageError",
    "__version__",
    "callbacks",
    "diff",
    "fetch",
    "fetch_source",
    "forget",
    "import_archive",
    "import_source",
    "ingest",
    "open",
    "publish",
    "pull",
    "record",
    "scaling_of_table",
    "verify",
]

__version__ = "0.3.0"


def open(  # noqa: A001 (named like gzip.open and its like, and called as dbtool.open)
    source: str | os.PathLike[str] | None = None,
    *,
    release: str | None = None,
    fetch_up_to: float = 100,
) -> Database:
    """Open releases to read.

    Any number of processes can do so at once, also while others add to them: each release is seen
    as it was when it was opened.

    Args:
        source: a release folder, a folder of them, or the URL of one, of which queries fetch the
            shards that they need; None for what DBTOOL_DB names or, where that is not set, the
            user's own releases and the one that ships with dbtool.
        release: default release of all questions; None for all releases.
        fetch_up_to: of a release on a server, the megabytes that a query, with those that run at
            the same time, may fetch.

    Raises:
        UsageError: there is no such release, or the limit is not a number from 0.
        DbtoolError: a release is damaged, or of another format.

    Example:
        >>> db = dbtool.open(release="replication")
        >>> "mnist/fc_64_64_64/sgd" in db.workloads()["workload"]
        True
        >>> db.close()
    """
    from dbtool.core.checks import require_number
    from dbtool.database import open_database

    most = round(require_number("fetch_up_to", fetch_up_to, 0) * 1_000_000)
    return open_database(source, release=release, option="dbtool.open", fetch_up_to=most)


# What is heavy to import comes once it is asked for.
_HOMES = {
    "Database": "dbtool.database",
    "diff": "dbtool.release.difference",
    "fetch": "dbtool.sources.archive.published",
    "forget": "dbtool.release.forget",
    "fetch_source": "dbtool.sources.public.catalog",
    "import_archive": "dbtool.sources.archive.source",
    "import_source": "dbtool.sources.public.catalog",
    "ingest": "dbtool.sources.ingest",
    "publish": "dbtool.release.publish",
    "pull": "dbtool.release.pull",
    "record": "dbtool.sources.recorder",
    "scaling_of_table": "dbtool.report.scaling",
    "verify": "dbtool.release.verify",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "callbacks":
        return importlib.import_module("dbtool.callbacks")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
