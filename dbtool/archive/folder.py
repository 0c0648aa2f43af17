"""Reads an unpacked archive: a folder, without following links."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from dbtool.archive.errors import ArchiveError
from dbtool.archive.members import Event, Kind, Member, Places, refuse_size
from dbtool.archive.published import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


def count_files(folder: Path) -> int:
    """How many files lie in a folder and below it."""
    return sum(len(files) for _, _, files in os.walk(folder))


def folder_members(folder: Path, on_file: Callable[[], None]) -> Iterator[Event]:
    """The files that belong to studies, a study after the other, and why others are refused.

    Args:
        folder: the unpacked archive, its folder batch_science, or one below that.
        on_file: called after each file.
    """
    whole = folder.resolve()
    above = whole.parts[whole.parts.index(ROOT) :] if ROOT in whole.parts else ()
    return _Walk(on_file).below(whole, "/".join(above))


class _Walk:
    """One pass over a folder."""

    def __init__(self, on_file: Callable[[], None]) -> None:
        self._on_file = on_file
        self._places = Places()

    def below(self, folder: Path, name: str) -> Iterator[Event]:
        """What lies in a folder and below it, in the order of the names, files first.

        Args:
            folder: where it is.
            name: what an archive would call it.
        """
        # A list and no recursion: folders can lie deeper in one another than Python's calls.
        waiting: list[tuple[str, str] | Member] = [(str(folder), name)]
        while waiting:
            place = waiting.pop()
            if isinstance(place, Member):
                yield place
                continue
            try:
                with os.scandir(place[0]) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                yield ArchiveError(place[1] or place[0], f"it cannot be read ({error.strerror})")
                continue
            folders = []
            for entry in found:
                path = f"{place[1]}/{entry.name}".lstrip("/")
                if entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, path))
                    continue
                event = self._file(entry, path)
                self._on_file()
                if event is not None:
                    yield event
                if isinstance(event, Member) and event.kind is Kind.STUDY:
                    waiting.append(Member(event.study, "", Kind.END, b""))
            yield from self._trials(path for _, path in folders)
            waiting.extend(reversed(folders))

    def _trials(self, folders: Iterable[str]) -> Iterator[Event]:
        """Those of the folders that are trials' by their names, and those with hostile names."""
        for path in folders:
            try:
                place = self._places.of_folder(path)
            except ArchiveError as error:
                yield error
                continue
            if place is not None:
                yield Member(*place, Kind.FOLDER, b"")

    def _file(self, entry: os.DirEntry[str], name: str) -> Event | None:
        """What is no folder."""
        try:
            if entry.is_symlink():
                return ArchiveError(name, "it is a symbolic link")
            if not entry.is_file(follow_symlinks=False):
                return ArchiveError(name, "it is neither a file nor a folder")
            place = self._places.of_file(name)
            if place is None:
                return None
            refuse_size(name, place[2], entry.stat(follow_symlinks=False).st_size)
            return Member(*place, _read(entry.path))
        except ArchiveError as error:
            return error
        except OSError as error:
            return ArchiveError(name, f"it cannot be read ({error.strerror})")


def _read(path: str) -> bytes:
    """A file's contents.

    Raises:
        OSError: it cannot be read, or became a link or a device since it was listed.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no file any more", path)
        return file.read()
