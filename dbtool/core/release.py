"""Reads release folders, the only form of measurements on a disk.

RELEASE/
  manifest.json                                        what belongs to it, with hashes
  workloads.parquet  studies.parquet  trials.parquet   the index, derived from the shards
  measurements/workload=…/batch_size=…/….parquet       the shards
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.core.errors import DbtoolError
from dbtool.core.files import open_file, sha256_of
from dbtool.core.footer import FooterError
from dbtool.core.index import REPEATED, TABLES, Index, check_tables
from dbtool.core.manifest import CROISSANT, MEASUREMENTS, Manifest, read_manifest
from dbtool.core.shards import Shard, read_footer
from dbtool.core.walk import access_error, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_TRIES, _SECONDS_BETWEEN_TRIES = 5, 0.05
_WRITE_ANEW = "remove it and run the command that wrote it again, or get the release anew"


def read_release(folder: Path) -> tuple[Manifest, dict[str, pa.Table]]:
    """Return the manifest of a release folder and the tables of its index, by file name.

    Where the index files are not those of the manifest, the tables are built from the shards. A
    writer that was killed between the index and the manifest leaves such files.

    Raises:
        DbtoolError: the manifest is missing, damaged, of another version or contradicts the index,
            or the index has to be built from a shard that is not sound.
    """
    for _ in range(_TRIES):
        manifest = read_manifest(folder)
        tables = _listed_tables(folder, manifest)
        if tables is not None:
            return manifest, tables
        # A writer replaces the index right before the manifest.
        time.sleep(_SECONDS_BETWEEN_TRIES)
    manifest = read_manifest(folder)
    shards = (load_shard(folder, file.path) for file in manifest.shards)
    return manifest, Index.of(shards).tables()


@contextlib.contextmanager
def telling_of_change(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` where the block changes a published release.

    The files that describe such a release, such as its card and its hashes, would be wrong then and
    are removed.
    """
    was_published = (folder / CROISSANT).exists()
    try:
        yield
    finally:
        if was_published and not (folder / CROISSANT).exists():
            tell(
                f"{folder} was published and has changed, so its README.md and the like are gone; "
                f"write them anew with `dbtool publish {folder}`"
            )


def shard_paths(folder: Path) -> list[str]:
    """List the shards in a release folder, listed or not, as sorted relative paths.

    Raises:
        AccessError: a folder cannot be read.
    """
    found = [folder / MEASUREMENTS]
    for prefix in ("workload=", "batch_size="):
        found = [
            Path(entry.path)
            for above in found
            for entry in entries(above)
            if entry.name.startswith(prefix)
        ]
    return sorted(
        f"{above.relative_to(folder).as_posix()}/{entry.name}"
        for above in found
        for entry in entries(above)
        if entry.name.endswith(".parquet") and not entry.name.startswith(".")
    )


def load_shard(folder: Path, path: str) -> Shard:
    """Load a shard of a release folder, and check its contents against its name.

    Raises:
        FooterError: the shard was cut short or altered, or its footer is out of contract.
        AccessError: the shard cannot be read.
    """
    file = folder / path
    try:
        sha256, size = sha256_of(file), file.stat().st_size
    except OSError as error:
        raise access_error(file, error) from error
    if not sha256.startswith(file.stem):
        raise FooterError(
            f"{file} was cut short or altered: its contents are not those of its name; "
            f"{_WRITE_ANEW}"
        )
    try:
        return Shard(path, sha256, size, read_footer(file))
    except FooterError as error:
        raise FooterError(f"{file} is refused: {error}; {_WRITE_ANEW}") from error


def parse_index(
    contents: Mapping[str, bytes], manifest: Manifest, origin: str
) -> dict[str, pa.Table]:
    """Parse the files of an index, by name, that a manifest lists; return their tables.

    Raises:
        DbtoolError: the files are not tables of an index, or contradict the manifest.
    """
    try:
        tables = {name: _table(contents[name]) for name in TABLES}
        check_tables(tables, manifest.shards)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = error if type(error) is ValueError else "a file is not readable Parquet"
        raise DbtoolError(
            f"the index of {origin} is not sound: {reason}; get the release anew, or make its "
            "index anew with `dbtool index`"
        ) from error
    return tables


def _listed_tables(folder: Path, manifest: Manifest) -> dict[str, pa.Table] | None:
    """Return the tables that the manifest lists; None where the files differ from the manifest."""
    contents = {}
    for name in TABLES:
        listed = manifest.file(name)
        try:
            with open_file(folder / name) as file:
                contents[name] = file.read()
        except OSError:
            return None
        if listed is None or hashlib.sha256(contents[name]).hexdigest() != listed.sha256:
            return None
    return parse_index(contents, manifest, str(folder))


def _table(content: bytes) -> pa.Table:
    """Read a Parquet file, with dictionary columns for the names that repeat in many rows."""
    buffer = pa.BufferReader(content)
    repeated = [name for name in pq.read_schema(buffer).names if name in REPEATED]
    # `read_table` would also load pandas where that is installed.
    with pq.ParquetFile(buffer, read_dictionary=repeated) as file:
        return file.read()
