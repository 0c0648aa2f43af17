"""Reads an unpacked archive: a folder, without following links."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dbtool.core.contract import ARCHIVE_ROOT
from dbtool.core.files import open_file
from dbtool.sources.archive.errors import ArchiveError
from dbtool.sources.archive.members import Member, named_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def folder_members(
    folder: Path, on_progress: Callable[[int, int], None]
) -> Iterator[Member | ArchiveError]:
    """The files that belong to studies, a study after the other, and why others are refused.

    Args:
        folder: the unpacked archive, its folder batch_science, or one below that.
        on_progress: called after each file with the number of files that were read, and of all.
    """
    whole = folder.resolve()
    above = whole.parts[whole.parts.index(ARCHIVE_ROOT) :] if ARCHIVE_ROOT in whole.parts else ()
    files = list(_files(str(whole), "/".join(above)))
    for number, (name, entry) in enumerate(files, 1):
        try:
            if isinstance(entry, OSError):
                raise entry
            member = _member(name, entry)
        except OSError as error:
            member = ArchiveError(name, f"it cannot be read ({error.strerror})")
        if member is not None:
            yield member
        on_progress(number, len(files))


def _files(top: str, name: str) -> Iterator[tuple[str, os.DirEntry[str] | OSError]]:
    """What in a folder and below it is no folder, or cannot be read; each with its name.

    Args:
        top: where the folder is.
        name: what an archive would call it.
    """
    # A list and no recursion: folders can lie deeper in one another than Python's calls.
    waiting = [(top, name)]
    while waiting:
        folder, name = waiting.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            yield name, error
            continue
        for entry in entries:
            below = f"{name}/{entry.name}".lstrip("/")
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, below))
            else:
                yield below, entry


def _member(name: str, entry: os.DirEntry[str]) -> Member | ArchiveError | None:
    """A file, or why it is refused; None for one that belongs to no study.

    Raises:
        OSError: it cannot be read.
    """
    if entry.is_symlink():
        return ArchiveError(name, "it is a symbolic link")
    if not entry.is_file(follow_symlinks=False):
        return ArchiveError(name, "it is neither a file nor a folder")
    member = named_member(name, entry.stat(follow_symlinks=False).st_size)
    if not isinstance(member, Member):
        return member
    # It may have become a link or a pipe since it was listed.
    with open_file(entry.path, follow_links=False) as file:
        return member._replace(body=file.read())
