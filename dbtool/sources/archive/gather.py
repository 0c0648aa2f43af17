"""Gathers the files of each study until it is complete, whatever order they arrive in."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa

from dbtool.core.shards import not_written
from dbtool.sources.archive.members import STUDY
from dbtool.sources.base import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dbtool.sources.archive.members import Member

_MOST_IN_MEMORY = 384 << 20
_CODEC = "zstd"


class _Spilled(NamedTuple):
    """A file that was moved out of memory: its position and its size."""

    handle: int
    offset: int
    packed: int
    size: int

    def read(self) -> bytes:
        packed = os.pread(self.handle, self.packed, self.offset)
        unpacked: bytes = pa.decompress(packed, self.size, codec=_CODEC, asbytes=True)
        return unpacked


@dataclass(slots=True)
class Gathered:
    """The files of a study that have arrived.

    Attributes:
        path: the study, WORKLOAD/BATCH_SIZE.
        files: by the trial's folder (empty for study.json), in order of arrival, and by name; see
            `read`.
        whole: how many trials have both files.
    """

    path: str
    files: dict[str, dict[str, bytes | _Spilled]] = field(default_factory=dict)
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
        return found.read() if isinstance(found, _Spilled) else found


class Gatherer:
    """The studies that are not complete yet.

    What outgrows memory goes to a file without a name, which vanishes with the process however
    that ends.
    """

    def __init__(self, folder: Path, expected: Mapping[str, int]) -> None:
        """Start without studies.

        Args:
            folder: where to put what outgrows memory.
            expected: by a study's path, how many trials make it complete. Other studies are
                complete when the archive ends.
        """
        self._folder = folder
        self._expected = expected
        self._studies: dict[str, Gathered] = {}
        self._spill = tempfile.TemporaryFile(dir=folder, prefix=".dbtool-import-")  # noqa: SIM115 (closed by __exit__)
        self._in_memory = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # On a full disk, closing it raises an error, after one that says more.
        with contextlib.suppress(OSError):
            self._spill.close()

    def add(self, member: Member) -> Gathered | MalformedError | None:
        """Keep a member; return its study once that is complete, and forget the study.

        Where the same file arrived before with other contents, the first one stays and the error is
        returned.

        Raises:
            DbtoolError: the disk is full.
        """
        study = self._studies.setdefault(member.study, Gathered(member.study))
        files = study.files.setdefault(member.trial, {})
        if member.file in files:
            if study.read(member.trial, member.file) == member.body:
                return None
            return MalformedError(
                member.name, "it is in the archive twice, with different contents"
            )
        files[member.file] = member.body
        study.whole += len(files) == 2
        self._in_memory += len(member.body)
        if self._in_memory > _MOST_IN_MEMORY:
            self._empty_memory()
        if study.whole == self._expected.get(study.path) and STUDY in study.files.get("", {}):
            return self._forget(study.path)
        return None

    def rest(self) -> Iterator[Gathered]:
        """Yield the studies that have not been returned, and forget each."""
        while self._studies:
            yield self._forget(next(iter(self._studies)))

    def _forget(self, path: str) -> Gathered:
        study = self._studies.pop(path)
        self._in_memory -= sum(
            len(body)
            for files in study.files.values()
            for body in files.values()
            if isinstance(body, bytes)
        )
        return study

    def _empty_memory(self) -> None:
        handle = self._spill.fileno()
        try:
            for files in (
                each for study in self._studies.values() for each in study.files.values()
            ):
                for name, body in files.items():
                    if isinstance(body, bytes):
                        packed = pa.compress(body, codec=_CODEC, asbytes=True)
                        files[name] = _Spilled(handle, self._spill.tell(), len(packed), len(body))
                        self._spill.write(packed)
            self._spill.flush()
        except OSError as error:
            raise not_written(self._folder, error) from error
        self._in_memory = 0
