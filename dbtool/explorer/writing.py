"""Writes the explorer: as one file, or beside a release on a server."""

from __future__ import annotations

import contextlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.files import finish, unfinished, write_whole
from dbtool.core.manifest import read_manifest
from dbtool.explorer.contents import Tables, facts_of, write_tables
from dbtool.explorer.page import page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbtool.explorer.contents import Chosen
    from dbtool.store.releases import Releases

PAGE = Path("explorer.html")
_FOLDER = Path("explorer")


def write_alone(
    db: Releases,
    chosen: Chosen,
    out: Path,
    *,
    figures: bytes,
    bibtex: str,
    options: Sequence[str],
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Write a page that includes all its data; the file is written completely or not at all.

    Args:
        db: the database.
        chosen: the workloads.
        out: the file.
        figures: JSON, gzipped, from `dbtool.figures.plot.packed_figures`.
        bibtex: how to cite the releases.
        options: command line words that select the same releases, repeated in commands.
        on_progress: called with the number of workloads done and their total.

    Raises:
        OSError: the file cannot be written.
        DbtoolError: the application was not built, or a shard is damaged.
    """
    trials, improvements, curves = BytesIO(), BytesIO(), BytesIO()
    tables = Tables(trials, improvements, None if chosen.is_large else curves)
    workloads = write_tables(db, chosen, tables, on_progress)
    text = page(
        facts_of(db, workloads, bibtex=bibtex, options=options),
        trials=trials.getvalue(),
        improvements=improvements.getvalue(),
        curves=curves.getvalue(),
        figures=figures,
    )
    write_whole(out, text.encode())


def write_beside(
    db: Releases,
    chosen: Chosen,
    folder: Path,
    *,
    figures: bytes,
    bibtex: str,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[str]:
    """Write a page and its tables into a release folder, whose shards it reads by HTTP.

    Args:
        db: the release.
        chosen: its workloads.
        folder: its folder.
        figures: JSON, gzipped, from `dbtool.figures.plot.packed_figures`.
        bibtex: how to cite it.
        on_progress: called with the number of workloads done and their total.

    Returns:
        The paths of the files, relative to the folder.

    Raises:
        OSError: a file cannot be written.
        DbtoolError: the application was not built, or a shard is damaged.
    """
    names = ["trials", "improvements"] + ([] if chosen.is_large else ["curves"])
    paths = {name: _FOLDER / f"{name}.parquet" for name in names}
    with contextlib.ExitStack() as stack:
        opened = {
            name: stack.enter_context(unfinished((folder / path).parent))
            for name, path in paths.items()
        }
        sinks = {name: file for name, (file, _) in opened.items()}
        tables = Tables(sinks["trials"], sinks["improvements"], sinks.get("curves"))
        workloads = write_tables(db, chosen, tables, on_progress)
        for name, (file, temporary) in opened.items():
            finish(file, temporary, folder / paths[name])
    files = {
        name: {"path": path.as_posix(), "bytes": (folder / path).stat().st_size}
        for name, path in paths.items()
    }
    shard_bytes = {file.path: file.bytes for file in read_manifest(folder).shards}
    facts = facts_of(db, workloads, bibtex=bibtex, files=files, shard_bytes=shard_bytes)
    write_whole(folder / PAGE, page(facts, figures=figures).encode())
    return [path.as_posix() for path in (PAGE, *paths.values())]
