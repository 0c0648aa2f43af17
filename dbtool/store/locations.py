"""The locations that a user reads or writes: release folders, folders of them, and URLs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import platformdirs

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import expanded
from dbtool.core.http import as_url
from dbtool.core.manifest import (
    MANIFEST,
    SWEEP_LOCK,
    SWEEP_WORK,
    is_release,
    read_manifest,
    releases_in,
)
from dbtool.core.resources import REPLICATION, bundled_release
from dbtool.core.walk import entries, is_file, is_folder, status_of


@dataclass(frozen=True)
class Location:
    """Release folders of this machine, or the URL of one elsewhere, with a name for messages."""

    name: str
    folders: Sequence[Path] = ()
    url: str | None = None


def user_folder() -> Path:
    """Return the folder of the user's own releases."""
    return platformdirs.user_data_path("dbtool") / "releases"


def named_location(given: str | os.PathLike[str] | None, option: str = "--db") -> Location:
    """Return the releases at a path or URL, which came with an option.

    None stands for what DBTOOL_DB names or, where that is not set, for the user's own releases and
    the one that ships with dbtool.

    Raises:
        UsageError: the location has no release.
        DbtoolError: no location was named and this machine has no release, or a sweep has not
            written one yet.
        AccessError: the location, or a folder in it, cannot be read.
    """
    if given is None:
        given, option = _from_environment(), "DBTOOL_DB"
    if given is None:
        folders = releases_in(user_folder())
        bundled = bundled_release()
        if is_release(bundled) and not is_held(bundled, folders):
            folders.append(bundled)
        if not folders:
            raise DbtoolError(
                "there is no release: make one with `dbtool import`, `dbtool ingest` or "
                "`dbtool produce`, or name one with --db"
            )
        return Location("the releases of this machine", folders)
    if url := as_url(given):
        return Location(url, url=url)
    path = expanded(given)
    if not is_folder(path):
        raise UsageError(f"{os.fspath(given)}, which {option} names, {_no_folder(path)}")
    found = [path] if is_release(path) else releases_in(path)
    if not found:
        raise _no_release(path, option)
    return Location(str(path), found)


def is_held(bundled: Path, own: Sequence[Path]) -> bool:
    """Return whether the user's own releases have the name, or all studies, of the one that ships.

    A wheel carries a part of `replication`, which the user may have as a whole, or have begun to.
    """
    named = {folder.name: folder for folder in own}
    if bundled.name in named or REPLICATION not in named:
        return bundled.name in named
    shipped, held = (
        {PurePosixPath(file.path).parent for file in read_manifest(folder).files}
        for folder in (bundled, named[REPLICATION])
    )
    return shipped <= held


def release_folder(given: str | os.PathLike[str]) -> Path:
    """Return the folder of a release, from its path or the name of one of the user's own."""
    path = expanded(given)
    if status_of(path) is not None:
        return path
    return {each.name: each for each in releases_in(user_folder())}.get(os.fspath(given), path)


def _no_folder(path: Path) -> str:
    """Return the fault of a path that is not a folder, and its remedy."""
    if status_of(path) is None:
        named = {each.name: each for each in [*releases_in(user_folder()), bundled_release()]}
        if str(path) in named:
            return f"does not exist; the release of that name is {named[str(path)]}"
        return (
            "does not exist: name a release folder or a folder of them, as `dbtool import`, "
            "`dbtool ingest` and `dbtool produce` make, or a URL that begins with http://"
        )
    if path.name == MANIFEST:
        return f"is a file: name its folder, {path.parent}"
    return "is not a folder: name a release folder or a folder of them"


def folder_to_write(option: str | os.PathLike[str] | None, release: str) -> Path:
    """Return the folder of a release to add rows to, which may be missing.

    The option is the value of --db: that folder, or one of release folders. A URL or a file is a
    UsageError.
    """
    given = option if option is not None else _from_environment()
    if given is not None and (url := as_url(given)):
        raise UsageError(f"{url} can only be read: name a folder to write to with --db")
    folder = user_folder() if given is None else expanded(given)
    if is_file(folder):
        raise UsageError(f"{folder} is a file: name a folder of releases with --db")
    return folder if is_release(folder) else folder / folder_name(release)


def folder_name(release: str) -> str:
    """Return the name of a release's folder in a folder of releases."""
    name = quote(release, safe=" +-._=@~")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _no_release(path: Path, option: str) -> DbtoolError:
    named = f"{path}, which {option} names,"
    places = [path, *(Path(entry.path) for entry in entries(path))]
    if any(map(is_swept, places)):
        return DbtoolError(
            f"a sweep is at work in {named} and has written no trials yet: ask again when its "
            "first ones have ended; `dbtool produce --watch` shows how they come along"
        )
    names = [mark.name for each in places for mark in entries(each)]
    if SWEEP_WORK in names or any(name.startswith(SWEEP_LOCK) for name in names):
        return DbtoolError(
            f"the sweep in {named} was stopped before it had written any trials: give its "
            "`dbtool produce` command again, which goes on from what was saved"
        )
    return UsageError(
        f"{named} holds no release: there is no {MANIFEST} in it or in the folders in it"
    )


def is_swept(folder: Path) -> bool:
    """Whether a sweep is at work in a folder."""
    marks = (mark for mark in entries(folder) if mark.name.startswith(SWEEP_LOCK))
    return any(_is_locked(mark.path) for mark in marks)


def _is_locked(path: str) -> bool:
    """Whether a process holds the lock of a file."""
    import filelock

    try:
        with filelock.FileLock(path, timeout=0):
            return False
    except (filelock.Timeout, OSError):
        # A lock that cannot be opened belongs to another user.
        return True


def _from_environment() -> str | None:
    return os.environ.get("DBTOOL_DB") or None
