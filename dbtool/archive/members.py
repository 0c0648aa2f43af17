"""What an archive's members are: where they belong, and which are refused by their name."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeAlias

from dbtool.archive.errors import ArchiveError
from dbtool.archive.published import ROOT


class Kind(IntEnum):
    """What a member is."""

    STUDY = 0  # study.json
    METADATA = 1  # metadata.json
    MEASUREMENTS = 2  # measurements.csv
    FOLDER = 3  # of a trial
    END = 4  # of a study's folder: nothing more of it follows


class Member(NamedTuple):
    """A file of one of the three kinds, the folder of a trial, or the end of a study's.

    Attributes:
        study: the study's path below the archive's root, WORKLOAD/BATCH_SIZE.
        trial: the name of the trial's folder; empty for what is no trial's.
        kind: what it is.
        body: the file's contents.
    """

    study: str
    trial: str
    kind: Kind
    body: bytes


Event: TypeAlias = "Member | ArchiveError"

_KINDS = {
    "study.json": Kind.STUDY,
    "metadata.json": Kind.METADATA,
    "measurements.csv": Kind.MEASUREMENTS,
}
FILE_NAMES = {kind: name for name, kind in _KINDS.items()}
# The published archive's files are far smaller; what claims more is no such file.
LARGEST = {
    Kind.STUDY: 16 << 20,
    Kind.METADATA: 16 << 20,
    Kind.MEASUREMENTS: 256 << 20,
}
_LARGEST_BATCH_SIZE = 2**31 - 1
_FEWEST_PARTS = 4  # DATASET/MODEL/OPTIMIZER/BATCH_SIZE
_MOST_CACHED = 10_000


class Places:
    """Where members belong, by their names."""

    def __init__(self) -> None:
        self._studies: dict[str, str | None] = {}

    def of_file(self, name: str) -> tuple[str, str, Kind] | None:
        """The study, the trial's folder and the kind of a file; None for other files.

        Raises:
            ArchiveError: the name is hostile, or a file of the three kinds is out of place.
        """
        refuse_name(name)
        folder, _, file = name.rpartition("/")
        kind = _KINDS.get(file)
        if kind is None:
            return None
        trial = ""
        if kind is not Kind.STUDY:
            folder, _, trial = folder.rpartition("/")
        study = self._study(folder)
        if study is None or (kind is not Kind.STUDY and trial in {"", "."}):
            raise ArchiveError(
                name, "it does not lie in a folder DATASET/MODEL/OPTIMIZER/BATCH_SIZE"
            )
        return study, trial, kind

    def of_folder(self, name: str) -> tuple[str, str] | None:
        """The study and the trial's folder; None for folders that are no trial's by their names.

        Raises:
            ArchiveError: the name is hostile.
        """
        refuse_name(name)
        folder, _, trial = name.rstrip("/").rpartition("/")
        if not (trial.isascii() and trial.isdigit()):
            return None
        study = self._study(folder)
        return None if study is None else (study, trial)

    def _study(self, folder: str) -> str | None:
        """A study's path below the archive's root; None where the folder is no study's."""
        if folder not in self._studies:
            if len(self._studies) >= _MOST_CACHED:
                self._studies.clear()
            self._studies[folder] = study_path(folder)
        return self._studies[folder]


def study_path(folder: str) -> str | None:
    """A study's path below the archive's root; None where the folder is no study's by its name."""
    parts = [part for part in folder.split("/") if part not in {"", "."}]
    if ROOT in parts:
        parts = parts[-parts[::-1].index(ROOT) :] if parts[-1] != ROOT else []
    if len(parts) < _FEWEST_PARTS or not all(part.isprintable() for part in parts):
        return None
    batch_size = parts[-1]
    if not (batch_size.isascii() and batch_size.isdigit()) or batch_size.startswith("0"):
        return None
    # A long number would take Python long.
    if len(batch_size) > len(str(_LARGEST_BATCH_SIZE)) or int(batch_size) > _LARGEST_BATCH_SIZE:
        return None
    return "/".join(parts)


def refuse_name(name: str) -> None:
    """Refuses names that lead out of the folder an archive would be unpacked into.

    Raises:
        ArchiveError: the name is one.
    """
    if name.startswith("/"):
        raise ArchiveError(name, "it has an absolute path, which no sound archive has")
    if ".." in name and ".." in name.split("/"):
        raise ArchiveError(name, "its path leads out of the archive through ..")
    if "\\" in name:
        raise ArchiveError(name, "its path has a backslash, which some systems take for a folder")


def refuse_size(name: str, kind: Kind, size: int) -> None:
    """Refuses files that are larger than any of their kind.

    Raises:
        ArchiveError: the file is one.
    """
    if size > LARGEST[kind]:
        raise ArchiveError(
            name,
            f"it claims {size:,} bytes, and no {FILE_NAMES[kind]} has more than {LARGEST[kind]:,}",
        )
