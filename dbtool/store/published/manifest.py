"""The manifest of a published release folder: what it holds, and the hash of every file.

Its form is schema/published_manifest.schema.json.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from dbtool.errors import DbtoolError
from dbtool.store.published.layout import CROISSANT, MANIFEST, MEASUREMENTS, TABLES, table_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 2
GET_ANEW = "get the release anew from where it came from, or run its `dbtool publish` again"


@dataclass(frozen=True)
class PublishedFile:
    """One file of a release.

    Attributes:
        path: below the folder, with forward slashes.
        sha256: of the whole file, in hexadecimal.
        bytes: its size.
        table: the table whose rows it holds, such as trials or measurements; None of other files.
        rows: how many; None of other files.
        workload: the workload whose measurements it holds; None of all others.
    """

    path: str
    sha256: str
    bytes: int
    table: str | None = None
    rows: int | None = None
    workload: str | None = None


@dataclass(frozen=True)
class PublishedManifest:
    """What a published release folder holds.

    Attributes:
        release: the release's name.
        title: one line on what it is; None where nobody gave any.
        licence: SPDX identifier of the measurements' licence.
        citation: BibTeX; None where nobody gave any.
        dbtool: version that wrote the folder.
        schema_version: of the tables, see schema/version.txt.
        reduced: what was left out or rounded of its shards, as `dbtool.release.reduction` records
            it: most often nothing, or one reduction of all.
        files: every file but the manifest and SHA256SUMS, sorted by path.
    """

    release: str
    title: str | None
    licence: str
    citation: str | None
    dbtool: str
    schema_version: int
    reduced: tuple[Mapping[str, Any], ...]
    files: tuple[PublishedFile, ...]

    def rows(self, table: str) -> int:
        """How many rows a table has, in all of its files."""
        return sum(file.rows or 0 for file in self.files if file.table == table)

    def measurements(self) -> dict[str, PublishedFile]:
        """The file of each workload's measurements."""
        return {file.workload: file for file in self.files if file.workload is not None}

    def to_json(self) -> str:
        """The text of manifest.json, the same for the same release."""
        content = {"manifest_format": FORMAT, **asdict(self)}
        content["files"] = [
            {name: value for name, value in asdict(file).items() if value is not None}
            for file in self.files
        ]
        content["totals"] = {
            "files": len(self.files),
            "bytes": sum(file.bytes for file in self.files),
            **{name: self.rows(name) for name in ("workloads", "studies", "trials", MEASUREMENTS)},
        }
        return json.dumps({**content, "sha256": _digest(content)}, indent=1, sort_keys=True) + "\n"


def is_published(folder: Path) -> bool:
    """Whether a folder is a published release, also where its manifest is damaged or missing."""
    marks = (CROISSANT, table_path("workloads"), table_path("studies"))
    if any((folder / mark).is_file() for mark in marks):
        return True
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("manifest_format") == FORMAT


def read_published(folder: Path) -> PublishedManifest:
    """The manifest of a published release folder.

    Raises:
        DbtoolError: it is missing, damaged, or of another format.
    """
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
    except OSError as error:
        raise DbtoolError(f"{path} cannot be read: {error.strerror}; {GET_ANEW}") from error
    return parse_published(text, str(path))


def parse_published(text: bytes, place: str) -> PublishedManifest:
    """The manifest that a text is.

    Args:
        text: of manifest.json.
        place: where it came from, for messages.

    Raises:
        DbtoolError: it is damaged, or of another format.
    """
    try:
        content = json.loads(text)
        found = content.pop("manifest_format")
        if isinstance(found, int) and found > FORMAT:
            raise DbtoolError(
                f"{place} has manifest format {found} and this dbtool reads {FORMAT}: "
                "upgrade dbtool (`pip install -U dbtool`)"
            )
        del content["sha256"], content["totals"]
        files = tuple(PublishedFile(**file) for file in content.pop("files"))
        reduced = tuple(content.pop("reduced"))
        manifest = PublishedManifest(**content, reduced=reduced, files=files)
        sound = _is_sound(manifest)
        # Also finds a change that leaves the meaning alone, such as a blank more.
        unaltered = found == FORMAT and manifest.to_json().encode() == text
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DbtoolError(f"{place} is not a sound manifest; {GET_ANEW}") from error
    if not unaltered:
        raise DbtoolError(f"{place} was altered: its own digest does not match; {GET_ANEW}")
    if not sound:
        raise DbtoolError(f"{place} is not a sound manifest; {GET_ANEW}")
    return manifest


def sums(manifest: PublishedManifest) -> str:
    """The text of SHA256SUMS: every file but itself, as `sha256sum` writes it."""
    digests = {file.path: file.sha256 for file in manifest.files}
    digests[MANIFEST] = hashlib.sha256(manifest.to_json().encode()).hexdigest()
    return "".join(f"{digests[path]}  {path}\n" for path in sorted(digests))


def _is_sound(manifest: PublishedManifest) -> bool:
    """Whether no file lies outside of the folder or is listed twice, and every table is there."""
    places = [PurePosixPath(file.path) for file in manifest.files]
    inside = all(
        not place.is_absolute() and ".." not in place.parts and place.as_posix() == file.path
        for place, file in zip(places, manifest.files, strict=True)
    )
    tables = {file.path for file in manifest.files if file.table not in (None, MEASUREMENTS)}
    return (
        inside
        and len(set(places)) == len(places)
        and tables == {table_path(table) for table in TABLES}
        and len(manifest.measurements()) == manifest.rows("workloads")
    )


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
