"""Release folders, the only form of measurements on a disk: read, locked, and listed anew.

RELEASE/
  manifest.json                                        what belongs to it, with hashes
  workloads.parquet  studies.parquet  trials.parquet   the index, derived from the shards
  measurements/workload=…/batch_size=…/….parquet       the shards
"""

import contextlib
import hashlib
import io
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.core.errors import DbtoolError, UsageError, counted, joined
from dbtool.core.files import open_file, remove_files, remove_unfinished, sha256_of, write_whole
from dbtool.core.footer import FooterError
from dbtool.core.http import as_url
from dbtool.core.index import TABLES, Index, TablesError, check_columns, check_tables
from dbtool.core.manifest import (
    CROISSANT,
    MANIFEST,
    MEASUREMENTS,
    SUMS,
    About,
    Manifest,
    ReleaseFile,
    check_about,
    encode_manifest,
    is_release,
    is_shard,
    lack_of_release,
    new_manifest,
    publish_command,
    read_manifest,
)
from dbtool.core.parquet import ParquetError, decoding, open_parquet, require_sound
from dbtool.core.shards import Shard, placed_shard, read_footer
from dbtool.core.walk import AccessError, access_error, entries, is_file

_LOCK = ".index.lock"
_LOCK_SECONDS = 60.0
_TRIES, _SECONDS_BETWEEN_TRIES = 5, 0.05
_WRITE_ANEW = "remove it and run the command that wrote it again, or get the release anew"


def read_release(folder: Path) -> tuple[Manifest, dict[str, pa.Table]]:
    """Return the manifest of a release folder and the tables of its index, by file name.

    Where the index files are not those of the manifest, the tables are built from the shards. A
    writer that was killed between the index and the manifest leaves such files. What is damaged
    or contradicts the rest is a DbtoolError.
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
    """Call `tell` where the block changes a published release, or finds shards gone.

    The files that describe a published release, such as its card and its hashes, would be wrong
    then and are removed, but for those that somebody edited. Shards that are not there any more
    leave the listing.
    """
    before = _listed(folder)
    try:
        yield
    finally:
        left = before - _listed(folder)
        gone = sorted(filter(is_shard, left))
        if CROISSANT in left:
            edited = sorted(path for path in left.difference(gone) if is_file(folder / path))
            first = f"move {joined(edited)} away, edited since and kept, and " if edited else ""
            tell(
                f"{folder} was published and has changed, so its README.md and the like are gone; "
                f"{first}write them anew with `{publish_command(folder, before)}`"
            )
        if gone:
            tell(
                f"{counted(len(gone), 'shard')} of {folder} such as {gone[0]} "
                f"{'is' if len(gone) == 1 else 'are'} not there any more and not listed: where "
                f"they come back, list them with `dbtool index {folder}`"
            )


def _listed(folder: Path) -> set[str]:
    """Return the paths that a release lists; none where its manifest is damaged."""
    if is_release(folder):
        with contextlib.suppress(DbtoolError):
            return read_manifest(folder).paths
    return set()


def shard_paths(folder: Path) -> list[str]:
    """List the shards in a release folder, listed or not, as sorted relative paths."""
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
    """Load a shard of a release folder, and check its contents and its study against its path.

    Raises:
        FooterError: the shard was cut short, altered or moved, or its footer is out of contract.
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
        return placed_shard(path, sha256, size, read_footer(file))
    except FooterError as error:
        raise FooterError(f"{file} is refused: {error}; {_WRITE_ANEW}") from error


def rebuild(folder: Path, about: About | None = None) -> Manifest:
    """Rebuild the index and the manifest of a release folder from its shards.

    The description is needed where the manifest is missing or damaged, and not changed otherwise.

    Raises:
        UsageError: there are no shards, or the release has another name.
        DbtoolError: a shard is not sound or clashes with another, the manifest is needed and cannot
            be read, or the folder cannot be written.
        AccessError: a folder or a shard cannot be read; the listing is unchanged.
    """
    if not shard_paths(folder):
        if is_release(folder):
            require_mounted(folder)
            raise UsageError(f"{folder} holds no shards: there is nothing to make an index of")
        raise UsageError(f"{folder} {lack_of_release(folder)}")
    with locked(folder):
        before = None
        try:
            before = read_manifest(folder)
        except DbtoolError as error:
            if about is None or isinstance(error, AccessError):
                raise
        else:
            if about is not None and about.release != before.release:
                raise UsageError(
                    f"{folder} holds the release {before.release!r} and not {about.release!r}: "
                    "leave out --release"
                )
            about = before.about
        check_about(about)
        remove_unfinished(folder)
        shards = [load_shard(folder, path) for path in shard_paths(folder)]
        listed = [shard.listed for shard in shards]
        return write_listing(folder, about, listed, Index.of(shards), before)


def require_mounted(folder: Path) -> None:
    """Raise an error for a release whose folder of measurements is empty, as on an unmounted disk.

    Someone who removes shards by hand leaves the folders of their studies.
    """
    path = folder / MEASUREMENTS
    if not entries(path):
        raise DbtoolError(
            f"there is nothing in {path}, where {folder / MANIFEST} lists shards: mount the disk "
            f"that they are on, or remove {folder} to begin anew"
        )


@contextlib.contextmanager
def locked(
    folder: Path, seconds: float = _LOCK_SECONDS, remedy: str = "try again when that has ended"
) -> Iterator[None]:
    """Keep other processes from changing what a release folder lists; wait some seconds for them.

    Raises:
        DbtoolError: they do not end, or the folder cannot be written, also in the block.
    """
    import filelock

    try:
        with filelock.FileLock(folder / _LOCK, timeout=seconds):
            try:
                yield
            finally:
                # filelock notices, of a lock that it waited for, that its file has been removed.
                (folder / _LOCK).unlink(missing_ok=True)
    except filelock.Timeout as error:
        raise DbtoolError(
            f"another process is writing to the release {folder}: {remedy}"
        ) from error
    except OSError as error:
        raise DbtoolError(
            f"cannot write to the release {folder}: {error.strerror or error}; what it holds is "
            "unharmed; free some space or allow writing there, then run the same command again"
        ) from error


def write_index(folder: Path, tables: Mapping[str, pa.Table]) -> list[ReleaseFile]:
    """Write the tables from `Index.tables`; return their entries for a manifest."""
    files = []
    for name, table in tables.items():
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd", store_schema=False)
        content = buffer.getvalue()
        write_whole(folder / name, content)
        sha256 = hashlib.sha256(content).hexdigest()
        files.append(ReleaseFile(path=name, sha256=sha256, bytes=len(content), rows=len(table)))
    return files


def write_listing(
    folder: Path, about: About, shards: Iterable[ReleaseFile], index: Index, before: Manifest | None
) -> Manifest:
    """Write the index and then the manifest of a release folder; return the manifest.

    The shards are all of the folder; `before` is its manifest so far, None where it is not known.
    """
    files = {*shards, *write_index(folder, index.tables())}
    held = set() if before is None else {*before.shards, *map(before.file, TABLES)}
    if before is not None and (before.about, held) == (about, files):
        return before
    manifest = new_manifest(about, files)
    write_whole(folder / MANIFEST, encode_manifest(manifest))
    if before is not None:
        # The files that publishing added describe the old state of the release.
        old = (file for file in before.files if file not in held and _is_as_listed(folder, file))
        remove_files(folder, (SUMS, *(file.path for file in old)))
    return manifest


def _is_as_listed(folder: Path, file: ReleaseFile) -> bool:
    """Whether a file has its listed contents; with others it is the user's own, as if edited."""
    with contextlib.suppress(OSError):
        return sha256_of(folder / file.path) == file.sha256
    return False


def parse_index(
    contents: Mapping[str, bytes], manifest: Manifest, origin: str
) -> dict[str, pa.Table]:
    """Parse the files of an index, by name, that a manifest lists, or raise a DbtoolError."""
    tables = {}
    try:
        for name in TABLES:
            try:
                tables[name] = _index_table(name, contents.get(name), manifest.file(name))
            except ParquetError as error:
                raise TablesError(f"{name}: {error}") from error
        check_tables(tables, manifest.shards)
    except TablesError as error:
        remedy = f"get the release anew, or make its index anew with `dbtool index {origin}`"
        if as_url(origin):
            remedy = "tell whoever hosts it"
        raise DbtoolError(f"the index of {origin} is not sound: {error}; {remedy}") from error
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


def _index_table(name: str, content: bytes | None, listed: ReleaseFile | None) -> pa.Table:
    """Read a table of the index, with dictionary columns for texts."""
    if content is None:
        raise TablesError(f"its manifest lists no {name}")
    # `read_table` would also load pandas where that is installed.
    with decoding(), open_parquet(pa.BufferReader(content)) as file:
        check_columns(name, file.schema_arrow)
        rows = file.metadata.num_rows
        if listed is None or rows != listed.rows:
            raise ParquetError(f"it claims {rows:,} rows and the manifest another number")
        # Every row has a key of its own, which takes more than a byte.
        if rows > len(content):
            raise ParquetError(f"it claims {rows:,} rows in {len(content):,} bytes")
        table = file.read(use_threads=False)
        require_sound(table)
        return table
