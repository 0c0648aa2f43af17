"""What is wrong with a published release, found by reading every byte and every row of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from dbtool.errors import DbtoolError
from dbtool.release.improvement_faults import improvement_faults
from dbtool.resources import queries_folder
from dbtool.store.database import schema_version
from dbtool.store.published.files import fault
from dbtool.store.published.layout import MANIFEST, MEASUREMENTS, SUMS, table_path
from dbtool.store.published.manifest import GET_ANEW, read_published, sums
from dbtool.store.published.views import make_measurements_view, open_published
from dbtool.store.statements import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.store.published.manifest import PublishedManifest


class Fault(NamedTuple):
    """Something that is wrong.

    Attributes:
        path: the file or folder.
        reason: what is wrong with it.
        mend: what to do; None where the reason says that.
    """

    path: Path
    reason: str
    mend: str | None = GET_ANEW


@dataclass(frozen=True)
class PublishedFaults:
    """What reading a published release found.

    Attributes:
        faults: what is wrong.
        measurements: how many it holds; 0 where something is wrong.
    """

    faults: tuple[Fault, ...]
    measurements: int


def published_faults(folder: Path) -> PublishedFaults:
    """Holds a published release against its manifest both ways, and its rows against each other."""
    try:
        manifest = read_published(folder)
    except DbtoolError as error:
        reason = f"{error}; nothing else was checked"
        return PublishedFaults((Fault(folder / MANIFEST, reason, None),), 0)
    faults = [*_extra(folder, manifest), *_faults_of_files(folder, manifest)]
    if not any(each.mend == GET_ANEW for each in faults):
        faults += _faults_of_rows(folder, manifest)
    return PublishedFaults(tuple(faults), 0 if faults else manifest.rows(MEASUREMENTS))


def _extra(folder: Path, manifest: PublishedManifest) -> Iterator[Fault]:
    """What lies in the folder besides the release. Hosts keep files of their own in hidden ones."""
    listed = {MANIFEST, SUMS, *(file.path for file in manifest.files)}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if not path.is_dir() and place.as_posix() not in listed and place.parts[0][0] != ".":
            yield Fault(path, "the manifest does not list it", "remove it")


def _faults_of_files(folder: Path, manifest: PublishedManifest) -> Iterator[Fault]:
    """Files that are missing, or are not what the manifest says."""
    expected = sums(manifest).encode()
    try:
        if (folder / SUMS).read_bytes() != expected:
            yield Fault(folder / SUMS, f"it does not follow from {MANIFEST}")
    except OSError as error:
        yield Fault(folder / SUMS, f"it cannot be read ({error.strerror})")
    if manifest.schema_version != schema_version():
        reason = (
            f"its schema version is {manifest.schema_version} and this dbtool checks "
            f"{schema_version()}"
        )
        yield Fault(folder, reason, f"check it with the dbtool that wrote it ({manifest.dbtool})")
        return
    for file in manifest.files:
        found = fault(folder, file)
        if found is not None:
            yield Fault(folder / file.path, found)


def _faults_of_rows(folder: Path, manifest: PublishedManifest) -> list[Fault]:
    """Rows that are missing, there twice, out of order, or do not go with others."""
    if manifest.schema_version != schema_version():
        return []
    try:
        with interruptible(), open_published(folder) as connection:
            make_measurements_view(connection, folder, manifest)
            found = [
                Fault(folder, str(reason))
                for reason, *_ in connection.execute(_query("database")).fetchall()
                if reason
            ]
            rows = connection.execute(_query("published")).fetchall()
            found += [Fault(folder / place, str(reason)) for place, reason in sorted(rows)]
            improving = folder / table_path("improvements")
            found += [Fault(improving, reason) for reason in improvement_faults(connection)]
            return found + _faults_of_what_is_said(connection, folder, manifest)
    except duckdb.OutOfMemoryException as error:
        raise DbtoolError(
            f"too little memory is free to check {folder}: end other programs and check it again"
        ) from error
    except duckdb.Error as error:
        return [Fault(folder, f"its rows cannot be read ({str(error).splitlines()[0]})")]


def _faults_of_what_is_said(
    connection: duckdb.DuckDBPyConnection, folder: Path, manifest: PublishedManifest
) -> list[Fault]:
    """Where the table of releases says another thing than the manifest."""
    said = (manifest.release, manifest.title, manifest.licence, manifest.citation)
    query = "SELECT release, title, licence, citation FROM stored.release"
    if connection.execute(query).fetchall() == [said]:
        return []
    reason = f"it says other things about the release than {MANIFEST}"
    return [Fault(folder / table_path("releases"), reason)]


def _query(name: str) -> str:
    """The text of queries/verify/NAME.sql."""
    return (queries_folder() / "verify" / f"{name}.sql").read_text(encoding="utf-8")
