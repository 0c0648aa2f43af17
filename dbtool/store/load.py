"""Loads what a person names into a database: shards, folders of them, and published releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError, UsageError
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.published.layout import MANIFEST
from dbtool.store.published.load import load_published
from dbtool.store.published.manifest import is_published, read_published

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from dbtool.store.ingest import IngestReport, Progress
    from dbtool.store.published.load import LoadReport
    from dbtool.store.published.manifest import PublishedManifest


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of what was named.

    Attributes:
        shards: of the shards; None where there were none.
        releases: of each published release.
    """

    shards: IngestReport | None
    releases: tuple[LoadReport, ...]

    @property
    def refused(self) -> tuple[tuple[str, str], ...]:
        """The name and the reason of each shard and study that did not go in."""
        shards = self.shards.refused if self.shards else ()
        return (
            *((str(path), reason) for path, reason in shards),
            *(refused for report in self.releases for refused in report.refused),
        )


def find(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The shards and the published releases that paths name.

    Raises:
        UsageError: a path does not exist, there is nothing to load, or two published releases are
            one, whole and in part.
    """
    published = _find_published(paths)
    shards = find_shards([path for path in paths if path not in published])
    if not shards and not published:
        names = ", ".join(map(str, paths))
        raise UsageError(
            f"there are no shards (trials-*.parquet) and no published release in {names}; "
            "`dbtool produce` writes shards"
        )
    return shards, published


def _find_published(paths: Sequence[Path]) -> list[Path]:
    """The published releases that paths name: folders of releases, and those below other folders.

    Raises:
        UsageError: two of them hold the same workload of one release in unequal files, as a
            release and a part of it do.
    """
    found = dict.fromkeys(folder for path in paths if path.is_dir() for folder in _below(path))
    manifests = []
    for folder in found:
        try:
            manifests.append((folder, read_published(folder)))
        except DbtoolError:
            # Loading it says what is wrong.
            continue
    for position, (folder, manifest) in enumerate(manifests):
        for other, second in manifests[:position]:
            if _clash(manifest, second):
                raise UsageError(
                    f"{other} and {folder} hold the same workloads of the release "
                    f"{manifest.release!r}: name one of them"
                )
    return list(found)


def load(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    on_progress: Progress | None = None,
) -> Loaded:
    """Loads shards, folders of shards and published releases; see `ingest` and `load_published`.

    Args:
        connection: from `open_for_writing`.
        paths: what to load.
        on_progress: called after each shard, or study of a release, with the number dealt with and
            the number of all of its kind.

    Raises:
        UsageError: a path does not exist, there is nothing to load, or two published releases are
            one, whole and in part.
        DbtoolError: a published release is damaged, or the database could not be written; what
            was finished until then is stored.
    """
    shards, published = find(paths)
    report = ingest(connection, shards, on_progress) if shards else None
    releases = [load_published(connection, folder, on_progress) for folder in published]
    return Loaded(report, tuple(releases))


def _below(folder: Path) -> Iterator[Path]:
    """The published releases at and below a folder, hidden ones passed over."""
    if is_published(folder):
        yield folder
        return
    for manifest in sorted(folder.rglob(MANIFEST)):
        hidden = any(part.startswith(".") for part in manifest.relative_to(folder).parts)
        if not hidden and is_published(manifest.parent):
            yield manifest.parent


def _clash(first: PublishedManifest, second: PublishedManifest) -> bool:
    """Whether both hold a workload of one release, and not in equal files."""
    theirs = second.measurements()
    return first.release == second.release and any(
        workload in theirs and theirs[workload].sha256 != file.sha256
        for workload, file in first.measurements().items()
    )
