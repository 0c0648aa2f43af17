"""Opens releases for a command, and tells what its answer leaves out."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dbtool.cli.messages import bar, tell
from dbtool.cli.options import FETCH_UP_TO
from dbtool.core.errors import few_of

if TYPE_CHECKING:
    from dbtool import database as store


@contextlib.contextmanager
def reading(
    source: str | None,
    release: str | None = None,
    *,
    fetch_up_to: int = FETCH_UP_TO,
    option: str = "--db",
) -> "Iterator[store.Database]":
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
    db: "store.Database", workloads: Iterable[str], release: str | None
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
    db: "store.Database",
    workloads: Iterable[str],
    metric: str | None,
    goal: object,
    release: str | None,
) -> None:
    """Name the workloads and releases that are left out, since they have no goal of their own."""
    from dbtool.store.questions import chosen_workloads, index_question, name_in, with_goals

    if goal is not None:
        return
    patterns = list(workloads)
    names = chosen_workloads(db, patterns, release)
    asked = {"workloads": names, "release": release}
    left = with_goals(db, asked, patterns, metric, None)
    out = [name for name in names if name not in left["workloads"]]
    there = db.result(index_question("goals", workloads=left["workloads"], release=release))
    out += [
        f"{name} of the release {each}"
        for name, each, *_ in there
        if name_in(each, name) not in left["keys"]
    ]
    if out:
        tell(f"left out without a goal: {few_of(out, 2)}; give one with --goal")
