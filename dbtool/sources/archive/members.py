"""The files of an archive that belong to studies, from a tar file or a folder.

A tar file is read once, and its members are never written to the disk.
"""

import functools
import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

import pyarrow as pa

from dbtool.core.contract import ARCHIVE_ROOT
from dbtool.core.files import open_file
from dbtool.core.walk import AccessError, walk
from dbtool.sources.base import MalformedError, OnProgress
from dbtool.sources.tar_stream import tar_headers

STUDY, METADATA, MEASUREMENTS = "study.json", "metadata.json", "measurements.csv"
# The published archive's files are far smaller; a file that claims more is not one of these.
_LARGEST = {STUDY: 16 << 20, METADATA: 16 << 20, MEASUREMENTS: 256 << 20}
_BATCH_SIZE, _LARGEST_BATCH_SIZE = re.compile("[1-9][0-9]{0,9}"), 2**31 - 1
_FEWEST_PARTS = 4  # DATASET/MODEL/OPTIMIZER/BATCH_SIZE
_IS_LINK, _IS_OTHER = "it is a link", "it is neither a file nor a folder"
_CODEC = "zstd"


class Member(NamedTuple):
    """A file of a study, WORKLOAD/BATCH_SIZE; the trial is its folder, empty for study.json."""

    study: str
    trial: str
    file: str
    body: bytes = b""


class Spilled(NamedTuple):
    """A file that was moved out of memory: its position and its size."""

    handle: int
    offset: int
    packed: int
    size: int

    @classmethod
    def write(cls, body: bytes, file: BinaryIO) -> Self:
        """Write contents at the end of a file."""
        packed = pa.compress(body, codec=_CODEC, asbytes=True)
        written = cls(file.fileno(), file.tell(), len(packed), len(body))
        file.write(packed)
        return written

    def read(self) -> bytes:
        """Return the contents."""
        packed = os.pread(self.handle, self.packed, self.offset)
        unpacked: bytes = pa.decompress(packed, self.size, codec=_CODEC, asbytes=True)
        return unpacked


@dataclass(slots=True)
class Gathered:
    """The files of a study, WORKLOAD/BATCH_SIZE, that have arrived.

    Attributes:
        path: the study.
        files: by the trial's folder (empty for study.json) and by name; see `read`.
        whole: how many trials have both files.
    """

    path: str
    files: dict[str, dict[str, bytes | Spilled]] = field(default_factory=dict)
    whole: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """Return the workload and the batch size."""
        workload, _, size = self.path.rpartition("/")
        return workload, int(size)

    @property
    def trials(self) -> list[str]:
        """List the trials' folders."""
        return [folder for folder in self.files if folder]

    def read(self, trial: str, file: str) -> bytes | None:
        """Return the contents of a file; None where it has not arrived."""
        found = self.files.get(trial, {}).get(file)
        return found.read() if isinstance(found, Spilled) else found


def named_member(name: str, size: int) -> Member | MalformedError | None:
    """Return a file as a member without contents, or why it is refused.

    None for a file that does not belong to a study.
    """
    if name.startswith("/") or "\\" in name or (".." in name and ".." in name.split("/")):
        return MalformedError(name, "its path leads out of the archive, or has a backslash")
    folder, _, file = name.rpartition("/")
    if file not in _LARGEST:
        return None
    trial = ""
    if file != STUDY:
        folder, _, trial = folder.rpartition("/")
    study = _study_path(folder)
    if study is None or (file != STUDY and trial in {"", "."}):
        reason = "it does not lie in a folder DATASET/MODEL/OPTIMIZER/BATCH_SIZE"
        return MalformedError(name, reason)
    if size > _LARGEST[file]:
        reason = f"it claims {size:,} bytes, and no {file} has more than {_LARGEST[file]:,}"
        return MalformedError(name, reason)
    return Member(study, trial, file)


@functools.lru_cache(maxsize=10_000)
def _study_path(folder: str) -> str | None:
    """Return a study's path below the archive's root; None if the folder is not a study's."""
    parts = [part for part in folder.split("/") if part not in {"", "."}]
    if ARCHIVE_ROOT in parts:
        parts = parts[len(parts) - parts[::-1].index(ARCHIVE_ROOT) :]
    if len(parts) < _FEWEST_PARTS or not all(part.isprintable() for part in parts):
        return None
    is_number = _BATCH_SIZE.fullmatch(parts[-1]) and int(parts[-1]) <= _LARGEST_BATCH_SIZE
    return "/".join(parts) if is_number else None


def folder_members(folder: Path, on_progress: OnProgress) -> Iterator[Member | MalformedError]:
    """Yield the files of a folder that belong to studies, and errors for others, such as links.

    The folder is an unpacked archive, its folder batch_science, or one below that.
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
            member = _from_folder(name, entry)
        except OSError as error:
            member = MalformedError(name, f"it cannot be read ({error.strerror})")
        if member is not None:
            yield member
        on_progress(number, len(files))


def _from_folder(name: str, entry: os.DirEntry[str]) -> Member | MalformedError | None:
    if entry.is_symlink():
        return MalformedError(name, _IS_LINK)
    if not entry.is_file(follow_symlinks=False):
        return MalformedError(name, _IS_OTHER)
    member = named_member(name, entry.stat(follow_symlinks=False).st_size)
    if not isinstance(member, Member):
        return member
    # It may have become a link or a pipe since it was listed.
    with open_file(entry.path, follow_links=False) as file:
        return member._replace(body=file.read())


def tar_members(path: Path, on_progress: OnProgress) -> Iterator[Member | MalformedError]:
    """Yield the members of a tar file that belong to studies, and errors.

    Raises:
        UnreadableError: the archive is damaged, cut short, not a tar file, or a bomb.
    """
    for header, stream in tar_headers(path, on_progress):
        member = _from_tar(header)
        if isinstance(member, Member):
            member = member._replace(body=stream.read(header.size))
        if member is not None:
            yield member


def _from_tar(header: tarfile.TarInfo) -> Member | MalformedError | None:
    """Return the member that a header announces; None where it does not belong to a study."""
    name = header.name
    if header.issparse() or any(key.startswith("GNU.sparse") for key in header.pax_headers):
        return MalformedError(name, "it is a sparse file, which can claim any size")
    if header.isreg():
        return named_member(name, header.size)
    if header.isdir() or header.type == b"V":  # the name of a volume
        return None
    is_link = header.islnk() or header.issym()
    return MalformedError(name, _IS_LINK if is_link else _IS_OTHER)
