"""Writes the explorer: as one file, or beside a release that a server is to hold."""

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
    from dbtool.store.database import Database

PAGE = Path("explorer.html")
# Names that the page knows.
_TABLES = (Path("explorer/trials.parquet"), Path("explorer/improvements.parquet"))


def write_alone(
    db: Database,
    chosen: Chosen,
    out: Path,
    *,
    figures: bytes,
    bibtex: str,
    options: Sequence[str],
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Writes a page that holds all that it shows, whole or not at all.

    Args:
        db: the database.
        chosen: the workloads.
        out: the file.
        figures: JSON, gzipped, from `dbtool.figures.packed`.
        bibtex: how to cite the releases.
        options: words to say again in commands that ask for the same releases.
        on_progress: called with how many workloads are done and how many there are.

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
    db: Database,
    chosen: Chosen,
    folder: Path,
    *,
    figures: bytes,
    bibtex: str,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[str]:
    """Writes a page and its tables into a release folder, whose shards it reads by HTTP.

    Args:
        db: the release.
        chosen: its workloads.
        folder: its folder.
        figures: JSON, gzipped, from `dbtool.figures.packed`.
        bibtex: how to cite it.
        on_progress: called with how many workloads are done and how many there are.

    Returns:
        The files, below the folder.

    Raises:
        OSError: a file cannot be written.
        DbtoolError: the application was not built, or a shard is damaged.
    """
    with contextlib.ExitStack() as stack:
        trials, improvements = (
            stack.enter_context(unfinished((folder / path).parent)) for path in _TABLES
        )
        tables = Tables(trials[0], improvements[0], None)
        workloads = write_tables(db, chosen, tables, on_progress)
        shard_bytes = {file.path: file.bytes for file in read_manifest(folder).shards}
        text = page(
            facts_of(db, workloads, bibtex=bibtex, shard_bytes=shard_bytes), figures=figures
        )
        for path, (file, temporary) in zip(_TABLES, (trials, improvements), strict=True):
            finish(file, temporary, folder / path)
    write_whole(folder / PAGE, text.encode())
    return [path.as_posix() for path in (PAGE, *_TABLES)]
