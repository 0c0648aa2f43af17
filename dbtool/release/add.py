"""Adds the shards of one release folder to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.core.index import Index
from dbtool.core.shards import not_written
from dbtool.core.walk import status_of
from dbtool.core.writer import ReleaseWriter
from dbtool.release.checking import copy_shard, read_whole, sound_shard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Added:
    """What became of the shards of a release.

    Attributes:
        release: the release that they were added to.
        shards: how many are new.
        studies: how many had no trials there.
        trials: of the new shards.
        measurements: of the new shards.
        already_there: shards that the other folder held.
    """

    release: str
    shards: int
    studies: int
    trials: int
    measurements: int
    already_there: int


def add_release(
    folder: Path,
    into: Path,
    *,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Added:
    """Adds the shards of one release folder to another; what it holds already changes nothing.

    The new ones are checked byte by byte and row by row, and against what is there, before the
    first is added.

    Args:
        folder: the release folder that is read.
        into: the release folder that is added to; made where it is not there.
        on_progress: called after each new shard with the number done and the number of all.

    Raises:
        UsageError: `folder` is no release folder, or `into` is one of another name.
        ClashError: a shard disagrees with another or with what is there; nothing was added.
        DbtoolError: a shard is damaged, is not listed, or cannot be written.
    """
    manifest = read_whole(folder)
    with ReleaseWriter(into, manifest.about) as writer:
        # The writer has listed all that lies there.
        new = [file for file in manifest.shards if status_of(into / file.path) is None]
        held = set(writer.index.studies)
        shards = [sound_shard(folder, file) for file in new]
        Index.of(shards)
        for shard in shards:
            writer.refuse_clash(shard.footer)
        for done, shard in enumerate(shards, 1):
            try:
                copy_shard(folder, shard, into)
            except OSError as error:
                raise not_written(into, error) from error
            writer.add(shard)
            on_progress(done, len(shards))
    found = {
        (shard.footer.study.workload.workload, shard.footer.study.batch_size) for shard in shards
    }
    return Added(
        manifest.release,
        len(shards),
        len(found - held),
        sum(len(shard.footer.trials) for shard in shards),
        sum(shard.rows for shard in shards),
        len(manifest.shards) - len(new),
    )
