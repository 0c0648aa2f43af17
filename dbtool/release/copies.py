"""Release folders that hold the same trials of one release, of which only one can be loaded."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError, UsageError
from dbtool.release.manifest import MANIFEST, Manifest, read_manifest
from dbtool.store.contract import parse_shard_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbtool.release.manifest import ReleaseFile


def refuse_copies(paths: Sequence[Path]) -> None:
    """Refuses paths that hold the same trials twice, once whole and once reduced, for instance.

    Args:
        paths: files, which are passed over, and folders, whose manifests tell what they hold.

    Raises:
        UsageError: two release folders have the same trials of one release in unequal shards.
    """
    found = sorted(_manifests(paths), key=lambda item: -_measurements(item[1]))
    for (folder, manifest), (other, second) in combinations(found, 2):
        if manifest.release == second.release and _clash(manifest, second):
            raise UsageError(
                f"{folder} ({_measurements(manifest):,} measurements) and {other} "
                f"({_measurements(second):,}) hold the same trials of the release "
                f"{manifest.release!r}: name one of them, such as {folder}"
            )


def _manifests(paths: Sequence[Path]) -> Iterator[tuple[Path, Manifest]]:
    """The release folders at and below paths; a damaged manifest is `dbtool verify`'s to name."""
    folders = [path for path in paths if path.is_dir()]
    for manifest in dict.fromkeys(found for path in folders for found in path.rglob(MANIFEST)):
        try:
            yield manifest.parent, read_manifest(manifest.parent)
        except DbtoolError:
            continue


def _measurements(manifest: Manifest) -> int:
    return sum(file.measurements for file in manifest.files)


def _clash(first: Manifest, second: Manifest) -> bool:
    """Whether shards of both, not equal ones, have trials of one study in common."""
    theirs: dict[tuple[str, int], list[ReleaseFile]] = {}
    for file in second.files:
        theirs.setdefault((file.workload, file.batch_size), []).append(file)
    return any(
        file.sha256 != other.sha256 and _overlap(file, other)
        for file in first.files
        for other in theirs.get((file.workload, file.batch_size), [])
    )


def _overlap(file: ReleaseFile, other: ReleaseFile) -> bool:
    """Whether the trials that the names of two shards span have any in common."""
    names = [parse_shard_name(Path(each.path).name) for each in (file, other)]
    if names[0] is None or names[1] is None:
        return False
    return names[0].first <= names[1].last and names[1].first <= names[0].last
