"""A temporary database of shards, from which their release is published."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError, UsageError
from dbtool.folders import folder_to_build_in, make_parent
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.load import find, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from dbtool.store.ingest import Progress


@contextlib.contextmanager
def loaded(
    paths: Sequence[Path], out: Path, release: str | None, on_progress: Progress | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """A database of what paths name, beside the folder that is to be made, and its release's name.

    Args:
        paths: shards, folders of shards and published releases.
        out: the folder that is to be made.
        release: the name of the release that they are to be or, where they hold several, the one
            that is meant; None: the one that they hold.
        on_progress: as for `load`.

    Raises:
        UsageError: the folder is there already, there is nothing to load, or there are several
            releases.
        DbtoolError: a shard or a study is refused, or the database cannot be written.
    """
    if out.exists():
        raise UsageError(f"{out} is there already; choose another folder with --out or remove it")
    find(paths)
    make_parent(out, "choose another folder with --out")
    try:
        building = folder_to_build_in(out.parent, f".{out.name}-load-")
        folder = building.__enter__()
    except OSError as error:
        raise DbtoolError(
            f"cannot write into {out.parent}: {error.strerror}; choose another folder with --out"
        ) from error
    with contextlib.ExitStack() as stack:
        stack.push(building)
        path = folder / "shards.duckdb"
        name = _load(path, paths, release, on_progress)
        yield stack.enter_context(open_for_reading(path)), name


def _load(
    path: Path, paths: Sequence[Path], release: str | None, on_progress: Progress | None
) -> str:
    """Loads a new database; returns the name of the release to publish."""
    with open_for_writing(path) as connection:
        outcome = load(connection, paths, on_progress)
        for what, reason in outcome.refused:
            raise DbtoolError(f"{what} is refused: {reason}; nothing was published")
        rows = connection.execute("SELECT release FROM stored.release").fetchall()
        held = [name for (name,) in rows]
        if release in held:
            return str(release)
        if len(held) > 1:
            raise UsageError(
                f"the shards are of several releases ({', '.join(sorted(held)[:3])}); "
                "choose one with --release, or name the shards of one alone"
            )
        if release is None:
            return str(held[0])
        connection.execute("UPDATE stored.release SET release = ?", [release])
        return release
