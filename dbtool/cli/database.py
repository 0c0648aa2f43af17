"""Opens releases for a command, and prints what they answer."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING

from dbtool.cli.messages import bar, tell
from dbtool.cli.options import (
    FETCH_UP_TO,
    FetchUpTo,
    Format,
    Limit,
    OutputFormat,
    Wide,
)
from dbtool.cli.table import View
from dbtool.core.errors import few_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import polars as pl

    from dbtool import database as store

# The columns of JSON, which frames store as text.
_JSON = ("definition", "search_space", "search", "metaparameters", "settings", "producer")


@contextlib.contextmanager
def reading(
    source: str | None,
    release: str | None = None,
    *,
    fetch_up_to: int = FETCH_UP_TO,
    option: str = "--db",
) -> Iterator[store.Database]:
    """Open the chosen releases; `fetch_up_to` is in megabytes, `option` named the source."""
    from dbtool.database import open_database

    with (
        bar("checking shards", "bytes") as on_progress,
        open_database(
            source,
            release=release,
            option=option,
            on_progress=on_progress,
            fetch_up_to=fetch_up_to * 1_000_000,
        ) as db,
    ):
        yield db


def tell_unlike_definitions(
    db: store.Database, workloads: Iterable[str], release: str | None
) -> None:
    """Name the workloads whose settings differ between releases, so their steps do not compare."""
    from dbtool.store.questions import chosen_workloads, index_question

    unlike = [] if release else db.result(index_question("unlike_definitions")).rows()
    names = set(chosen_workloads(db, workloads)) if unlike else set()
    by_releases: dict[tuple[str, ...], list[str]] = {}
    for workload, releases in unlike:
        if workload in names:
            by_releases.setdefault(tuple(releases), []).append(workload)
    for releases, alike in by_releases.items():
        tell(
            f"{' and '.join(releases)} were not trained with the same settings of "
            f"{few_of(alike, 1)}: `dbtool diff` tells which, --release NAME takes one alone"
        )


def tell_left_out(
    db: store.Database,
    workloads: Iterable[str],
    metric: str | None,
    goal: object,
    release: str | None,
) -> None:
    """Name the workloads that are not asked of, since they have no goal and none is given."""
    from dbtool.store.questions import chosen_workloads, with_goals

    if goal is not None:
        return
    patterns = list(workloads)
    names = chosen_workloads(db, patterns, release)
    asked = {"workloads": names, "release": release}
    left = with_goals(db, asked, patterns, metric, None)["workloads"]
    if out := [name for name in names if name not in left]:
        tell(f"left out without a goal: {few_of(out, 2)}; give one with --goal")


def listing(*first: str) -> Callable[[Callable[..., pl.DataFrame]], Callable[..., None]]:
    """Make a command of a function that returns rows of a database.

    The command has the function's parameters after the first, which is the database, and --db,
    --columns, --wide, --format and --limit.

    Args:
        first: the columns that a table shows, the most important first.
    """

    def decorated(answer: Callable[..., pl.DataFrame]) -> Callable[..., None]:
        def command(
            *,
            columns: str | None = None,
            wide: Wide = False,
            db: str | None = None,
            fetch_up_to: FetchUpTo = FETCH_UP_TO,
            output_format: OutputFormat = Format.TABLE,
            limit: Limit = None,
            **values: object,
        ) -> None:
            from dbtool.cli.output import print_table, require_printable

            require_printable(output_format)
            with reading(db, fetch_up_to=fetch_up_to) as database:
                rows = answer(database, **values)
            view = View(first, columns, wide)
            print_table(rows.to_arrow(), output_format, limit, view, _JSON)

        _, *own = inspect.signature(answer).parameters.values()
        *shared, _ = inspect.signature(command, eval_str=True).parameters.values()
        command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined] # Typer reads it
        command.__doc__ = answer.__doc__
        return command

    return decorated
