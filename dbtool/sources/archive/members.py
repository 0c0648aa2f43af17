"""The files of an archive that belong to studies, recognized and checked by name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from dbtool.core.contract import ARCHIVE_ROOT
from dbtool.core.files import open_file
from dbtool.core.walk import walk
from dbtool.sources.base import MalformedError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dbtool.core.walk import AccessError

STUDY, METADATA, MEASUREMENTS = "study.json", "metadata.json", "measurements.csv"
# The published archive's files are far smaller; a file that claims more is not one of these.
_LARGEST = {STUDY: 16 << 20, METADATA: 16 << 20, MEASUREMENTS: 256 << 20}
_LARGEST_BATCH_SIZE = 2**31 - 1
_FEWEST_PARTS = 4  # DATASET/MODEL/OPTIMIZER/BATCH_SIZE


class UnreadableError(MalformedError):
    """The rest of the archive cannot or must not be read."""


class Member(NamedTuple):
    """A file of a study.

    Attributes:
        study: the study's path below the archive's root, WORKLOAD/BATCH_SIZE.
        trial: the name of the trial's folder; empty for study.json.
        file: study.json, metadata.json or measurements.csv.
        body: its contents.
    """

    study: str
    trial: str
    file: str
    body: bytes = b""

    @property
    def name(self) -> str:
        """Return its name below the archive's root."""
        return "/".join(part for part in (self.study, self.trial, self.file) if part)


def named_member(name: str, size: int) -> Member | MalformedError | None:
    """Return a file as a member without contents, or why it is refused.

    None for a file that does not belong to a study.
    """
    if reason := _hostile(name):
        return MalformedError(name, reason)
    folder, _, file = name.rpartition("/")
    if file not in _LARGEST:
        return None
    trial = ""
    if file != STUDY:
        folder, _, trial = folder.rpartition("/")
    study = _study_path(folder)
    if study is None or (file != STUDY and trial in {"", "."}):
        return MalformedError(
            name, "it does not lie in a folder DATASET/MODEL/OPTIMIZER/BATCH_SIZE"
        )
    if size > _LARGEST[file]:
        return MalformedError(
            name, f"it claims {size:,} bytes, and no {file} has more than {_LARGEST[file]:,}"
        )
    return Member(study, trial, file)


def _hostile(name: str) -> str | None:
    """Return why a name could lead out of the folder to unpack into; None where it could not."""
    if name.startswith("/"):
        return "it has an absolute path, which no sound archive has"
    if ".." in name and ".." in name.split("/"):
        return "its path leads out of the archive through .."
    if "\\" in name:
        return "its path has a backslash, which some systems take for a folder"
    return None


@functools.lru_cache(maxsize=10_000)
def _study_path(folder: str) -> str | None:
    """Return a study's path below the archive's root; None if the folder is not a study's."""
    parts = [part for part in folder.split("/") if part not in {"", "."}]
    if ARCHIVE_ROOT in parts:
        parts = parts[len(parts) - parts[::-1].index(ARCHIVE_ROOT) :]
    if len(parts) < _FEWEST_PARTS or not all(part.isprintable() for part in parts):
        return None
    batch_size = parts[-1]
    if not (batch_size.isascii() and batch_size.isdigit()) or batch_size.startswith("0"):
        return None
    # Python takes long to convert a long number.
    if len(batch_size) > len(str(_LARGEST_BATCH_SIZE)) or int(batch_size) > _LARGEST_BATCH_SIZE:
        return None
    return "/".join(parts)


def folder_members(
    folder: Path, on_progress: Callable[[int, int], None]
) -> Iterator[Member | MalformedError]:
    """Yield the files of a folder that belong to studies, and errors for others, such as links.

    Args:
        folder: the unpacked archive, its folder batch_science, or one below that.
        on_progress: called after each file with the number of files read, and of all files.
    """
    whole = folder.resolve()
    above = whole.parts[whole.parts.index(ARCHIVE_ROOT) :] if ARCHIVE_ROOT in whole.parts else ()
    unreadable: list[AccessError] = []
    found = list(walk(whole, on_error=unreadable.append))
    files = [entry for entry in found if not entry.is_dir(follow_symlinks=False)]

    def name_of(path: str) -> str:
        return "/".join((*above, path.removeprefix(str(whole)).lstrip("/")))

    for error in unreadable:
        yield MalformedError(name_of(str(error.path)), str(error))
    for number, entry in enumerate(files, 1):
        name = name_of(entry.path)
        try:
            member = _member(name, entry)
        except OSError as error:
            member = MalformedError(name, f"it cannot be read ({error.strerror})")
        if member is not None:
            yield member
        on_progress(number, len(files))


def _member(name: str, entry: os.DirEntry[str]) -> Member | MalformedError | None:
    if entry.is_symlink():
        return MalformedError(name, "it is a symbolic link")
    if not entry.is_file(follow_symlinks=False):
        return MalformedError(name, "it is neither a file nor a folder")
    member = named_member(name, entry.stat(follow_symlinks=False).st_size)
    if not isinstance(member, Member):
        return member
    # It may have become a link or a pipe since it was listed.
    with open_file(entry.path, follow_links=False) as file:
        return member._replace(body=file.read())
