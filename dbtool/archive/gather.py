"""Collects the members of studies until each study is whole, whatever order they come in."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self, cast

import pyarrow as pa

from dbtool.archive.errors import ArchiveError, UnreadableError
from dbtool.archive.members import FILE_NAMES, Kind, Member

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

_MOST_IN_MEMORY = 384 << 20
# What stays in memory of trials whose study is not whole: their names and metadata.
_MOST_METADATA = 768 << 20
_OVERHEAD = 512  # bytes that Python takes to keep one file
_CODEC = "zstd"


class _Spilled(NamedTuple):
    """Where a file that left memory lies."""

    offset: int
    packed: int
    size: int


@dataclass(slots=True)
class Gathered:
    """What has come of a study.

    Attributes:
        path: the study, WORKLOAD/BATCH_SIZE.
        description: study.json; None where it has not come.
        folders: the trials' folders that have come, in order.
        metadata: metadata.json by the trial's folder.
        measurements: measurements.csv by the trial's folder; see `Gatherer.measurements_of`.
        whole: how many trials have both.
        in_memory: bytes of the measurements that are kept in memory.
        kept: bytes that the rest takes there, roughly.
    """

    path: str
    description: bytes | None = None
    folders: dict[str, None] = field(default_factory=dict)
    metadata: dict[str, bytes] = field(default_factory=dict)
    measurements: dict[str, bytes | _Spilled] = field(default_factory=dict)
    whole: int = 0
    in_memory: int = 0
    kept: int = 0


class Gatherer:
    """The studies that are not whole yet.

    What outgrows memory goes to a file without a name, which vanishes with the process however
    that ends.
    """

    def __init__(self, folder: Path, expected: Mapping[str, int]) -> None:
        """Begins with none.

        Args:
            folder: where to put what outgrows memory.
            expected: how many trials make a study whole, by its path. Those that are not in it
                are whole when their folder or the archive ends.
        """
        self._folder = folder
        self._expected = expected
        self._studies: OrderedDict[str, Gathered] = OrderedDict()
        self._finished: dict[str, dict[str, None]] = {}
        self._spill: BinaryIO | None = None
        self._in_memory = 0
        self._metadata = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._spill is not None:
            self._spill.close()

    def add(self, member: Member) -> Gathered | None:
        """Keeps a member; returns its study once that is whole, which is then forgotten.

        Raises:
            ArchiveError: the same file came before with other contents; the first one stays.
            UnreadableError: too many trials of unfinished studies would have to be kept.
        """
        if member.kind is Kind.FOLDER and member.trial in self._finished.get(member.study, ()):
            # It comes after its files, which made the study whole.
            return None
        study = self._studies.get(member.study)
        if study is None:
            if member.kind is Kind.END:
                return None
            study = self._studies[member.study] = Gathered(member.study)
        elif member.kind is Kind.END:
            return self._forget(study)
        else:
            self._studies.move_to_end(member.study)
        self._keep(study, member)
        if self._in_memory > _MOST_IN_MEMORY:
            self._make_room()
        if study.description is not None and study.whole == self._expected.get(study.path):
            return self._forget(study)
        return None

    def rest(self) -> Iterator[Gathered]:
        """The studies that have not been returned, each forgotten when the next is asked for."""
        while self._studies:
            yield self._forget(next(iter(self._studies.values())))

    def measurements_of(self, study: Gathered, trial: str) -> bytes | None:
        """A trial's measurements.csv; None where it has none."""
        found = study.measurements.get(trial)
        if not isinstance(found, _Spilled):
            return found
        spill = cast("BinaryIO", self._spill)
        spill.seek(found.offset)
        packed = spill.read(found.packed)
        unpacked: bytes = pa.decompress(packed, found.size, codec=_CODEC, asbytes=True)
        return unpacked

    def _keep(self, study: Gathered, member: Member) -> None:
        _, trial, kind, body = member
        if kind is Kind.MEASUREMENTS:
            if trial in study.measurements:
                _refuse_other(member, self.measurements_of(study, trial))
                return
            study.measurements[trial] = body
            study.whole += trial in study.metadata
            study.in_memory += len(body)
            self._in_memory += len(body)
        elif kind is Kind.METADATA:
            if trial in study.metadata:
                _refuse_other(member, study.metadata[trial])
                return
            study.metadata[trial] = body
            study.whole += trial in study.measurements
        elif kind is Kind.STUDY:
            if study.description is not None:
                _refuse_other(member, study.description)
                return
            study.description = body
        if kind is not Kind.STUDY and trial not in study.folders:
            study.folders[trial] = None
        kept = _OVERHEAD + (0 if kind is Kind.MEASUREMENTS else len(body))
        study.kept += kept
        self._metadata += kept
        if self._metadata > _MOST_METADATA:
            raise UnreadableError(
                _name(member), "too many trials of unfinished studies came before it to keep them"
            )

    def _forget(self, study: Gathered) -> Gathered:
        del self._studies[study.path]
        self._finished.setdefault(study.path, {}).update(study.folders)
        self._in_memory -= study.in_memory
        self._metadata -= study.kept
        return study

    def _make_room(self) -> None:
        """Puts the measurements of studies that nothing has come of for longest into a file."""
        if self._spill is None:
            self._spill = tempfile.TemporaryFile(dir=self._folder, prefix=".dbtool-import-")  # noqa: SIM115 (closed with the gatherer)
        for study in self._studies.values():
            if self._in_memory <= _MOST_IN_MEMORY // 2:
                break
            for trial, body in study.measurements.items():
                if not isinstance(body, _Spilled):
                    study.measurements[trial] = self._write(body)
            self._in_memory -= study.in_memory
            study.in_memory = 0

    def _write(self, body: bytes) -> _Spilled:
        spill = cast("BinaryIO", self._spill)
        packed = pa.compress(body, codec=_CODEC, asbytes=True)
        offset = spill.seek(0, 2)
        spill.write(packed)
        return _Spilled(offset, len(packed), len(body))


def _refuse_other(member: Member, first: bytes | None) -> None:
    """Refuses a file that came before with other contents.

    Raises:
        ArchiveError: it did.
    """
    if member.body != first:
        raise ArchiveError(_name(member), "it is in the archive twice, with different contents")


def _name(member: Member) -> str:
    """A member's name below the archive's root."""
    place = f"{member.study}/{member.trial}" if member.trial else member.study
    return f"{place}/{FILE_NAMES[member.kind]}" if member.kind in FILE_NAMES else place
