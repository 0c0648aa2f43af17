"""Another release folder as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.core.index import Index
from dbtool.core.walk import status_of
from dbtool.sources.base import StoredShard
from dbtool.store.shard_files import read_whole, sound_shard

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.core.manifest import About, Manifest
    from dbtool.sources.base import Addition, NewShard


@dataclass(frozen=True)
class ReleaseSource:
    """A release folder and its manifest; see `dbtool.sources.base.Source`."""

    folder: Path
    manifest: Manifest

    @classmethod
    def of(cls, folder: Path) -> ReleaseSource:
        """Read the manifest of a release folder.

        Raises:
            UsageError: the folder is not a release folder.
            DbtoolError: the manifest is damaged, or does not list a shard.
        """
        return cls(folder, read_whole(folder))

    @property
    def about(self) -> About:
        """Return the release's description of itself."""
        return self.manifest.about

    def studies(self, addition: Addition) -> list[NewShard]:
        """Return the shards that the other folder lacks, checked byte by byte and row by row.

        Raises:
            ClashError: two shards disagree.
            DbtoolError: a shard is damaged.
        """
        report, listed = addition.report, self.manifest.shards
        new = [file for file in listed if status_of(report.folder / file.path) is None]
        report.already_there += len(listed) - len(new)
        shards = [sound_shard(self.folder, file) for file in new]
        Index.of(shards)
        return [(shard.footer, StoredShard(self.folder, shard)) for shard in shards]
