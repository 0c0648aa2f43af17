"""Opens releases for a command."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from dbtool.cli.bars import bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import polars as pl

    from dbtool.cli.options import Format
    from dbtool.cli.table import View
    from dbtool.database import Database

# The columns of JSON, which frames store as text.
_JSON = ("definition", "search_space", "search", "metaparameters", "settings", "producer")


@contextlib.contextmanager
def reading(
    source: str | None,
    release: str | None = None,
    *,
    option: str = "--db",
    fetch_up_to: int | None = None,
) -> Iterator[Database]:
    """Open the chosen releases for reading.

    Args:
        source: what the user named; None: what DBTOOL_DB names, or the releases of this machine.
        release: the release that questions are about; None: all.
        option: the option that named the source.
        fetch_up_to: bytes of shards that a query may fetch from a server; None: as in
            `dbtool.open`.

    Raises:
        DbtoolError: the releases cannot be opened.
    """
    from dbtool.database import open_database
    from dbtool.store.opening import FETCH_UP_TO

    with (
        bar("checking shards", "bytes") as on_progress,
        open_database(
            source,
            release=release,
            option=option,
            on_progress=on_progress,
            fetch_up_to=FETCH_UP_TO if fetch_up_to is None else fetch_up_to,
        ) as db,
    ):
        yield db


def tell_unlike_definitions(db: Database, workloads: Iterable[str], release: str | None) -> None:
    """Name the workloads whose settings differ between releases, so their steps do not compare."""
    from dbtool.cli.messages import tell
    from dbtool.core.errors import few_of
    from dbtool.store.questions import index_question, workload_names

    unlike = [] if release else db.result(index_question("unlike_definitions")).rows()
    names = set(workload_names(db, workloads)) if unlike else set()
    by_releases: dict[tuple[str, ...], list[str]] = {}
    for workload, releases in unlike:
        if workload in names:
            by_releases.setdefault(tuple(releases), []).append(workload)
    for releases, alike in by_releases.items():
        tell(
            f"{' and '.join(releases)} were not trained with the same settings of "
            f"{few_of(alike, 1)}: `dbtool diff` tells which, --release NAME takes one alone"
        )


def print_answer(
    answer: Callable[[Database], pl.DataFrame],
    source: str | None,
    output_format: Format,
    limit: int | None,
    view: View,
) -> None:
    """Open the chosen releases, and print the rows of an answer from them.

    Raises:
        UsageError: the releases do not exist, or lack a name or column, or the format is binary and
            standard output is a terminal.
        DbtoolError: a shard is damaged, or the format cannot store a column.
    """
    from dbtool.cli.output import print_table, require_printable

    require_printable(output_format)
    with reading(source) as db:
        rows = answer(db)
    documents = ", ".join(f"{name}::JSON AS {name}" for name in _JSON if name in rows.columns)
    columns = f"* REPLACE ({documents})" if documents else "*"
    print_table(rows.to_arrow(), output_format, limit, columns, view)
