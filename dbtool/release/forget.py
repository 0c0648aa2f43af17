"""Removes a release from the user's own releases."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from dbtool.core.errors import DbtoolError, UsageError, unknown
from dbtool.core.files import unfinished_folder
from dbtool.core.manifest import read_manifest, releases_in
from dbtool.core.release import locked
from dbtool.core.resources import bundled_release
from dbtool.store.locations import folder_name, is_swept, user_folder


@dataclass(frozen=True)
class Forgotten:
    """A release that was removed.

    Attributes:
        folder: its folder, which does not exist any more.
        measurements: their number.
    """

    folder: Path
    measurements: int


def forget(release: str) -> Forgotten:
    """Remove a release from the user's own releases, those that `dbtool ingest` adds to by default.

    Its folder is removed with all that is in it. Releases elsewhere, and the one that ships with
    dbtool, stay.

    Args:
        release: its exact name.

    Raises:
        UsageError: the user has no release of that name.
        DbtoolError: another process writes to it, or it cannot be read or removed.

    Example:
        >>> dbtool.forget("my-runs").measurements  # doctest: +SKIP
        1200
    """
    own = user_folder()
    found = {each.name: each for each in releases_in(own)}
    folder = found.get(folder_name(release))
    if folder is None:
        if release == bundled_release().name:
            raise UsageError(f"the release {release!r} ships with dbtool and stays")
        raise unknown(f"release in {own}", release, found, "dbtool releases")
    measurements = sum(file.rows or 0 for file in read_manifest(folder).shards)
    gone = unfinished_folder(own)
    with locked(folder, 0.0):
        if is_swept(folder):
            raise DbtoolError(f"a sweep is at work in {folder}: stop it first")
        # At once, so that nobody reads half of it; what a kill leaves goes with the next write.
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    return Forgotten(folder, measurements)
