"""Writes release folders: shards first, then the index, and the manifest last, each in one step.

So a killed writer loses at most the shard in work; what it had not listed yet is listed by the next
one, or by `dbtool index`.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from typing import TYPE_CHECKING, Self

import filelock
import msgspec
import pyarrow.parquet as pq

from dbtool.core.contract import shard_path
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import (
    finish,
    make_folder,
    remove_unfinished,
    sha256_of,
    unfinished,
    write_whole,
)
from dbtool.core.index import TABLES, ClashError, Index
from dbtool.core.manifest import (
    MANIFEST,
    MEASUREMENTS,
    SUMS,
    About,
    Manifest,
    ReleaseFile,
    check_about,
    encode_manifest,
    is_release,
    lack_of_release,
    new_manifest,
    read_manifest,
)
from dbtool.core.release import load_shard, read_release, shard_paths
from dbtool.core.shards import COMPRESSION_LEVEL, Shard, not_written, read_footer, write_shard
from dbtool.core.walk import entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    import pyarrow as pa

    from dbtool.core.footer import Footer

_LOCK = ".index.lock"
_LOCK_SECONDS = 60.0
# How often a writer lists what it has added, so that readers can see it; at its end, too.
_LIST_EVERY_SECONDS = 5.0


class ReleaseWriter:
    """Adds shards to a release folder, which is made where there is none.

    Several processes may write to one folder at a time; what they add is listed under a lock.
    Threads may call `write` of one writer at once.

    Attributes:
        folder: the release folder.
        index: what it holds, with what was added.

    Example:
        with ReleaseWriter(folder, About(release="mine")) as writer:
            writer.write(footer, tables)
    """

    def __init__(self, folder: Path, about: About) -> None:
        """Opens a release folder to add to; what killed writers left there is listed or removed.

        Args:
            folder: the release folder.
            about: what the release says of itself; of one that is there the name must be equal, and
                a title, licence or citation that it lacks is filled in.

        Raises:
            UsageError: the folder holds a release of another name.
            DbtoolError: it is damaged, or cannot be written.
            AccessError: a folder in it cannot be read; what it lists stays.
        """
        check_about(about)
        make_folder(folder, "name another one")
        self.folder = folder
        self._about = about
        self._new: list[Shard] = []
        self._listed_at = time.monotonic()
        self._mutex = threading.Lock()
        with locked(folder):
            remove_unfinished(folder)
            self._read()
            self._take_stock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The error of the block says more.
        with contextlib.suppress(DbtoolError) if error else contextlib.nullcontext():
            self.list_new()

    def write(
        self, footer: Footer, tables: Iterable[pa.Table], compression_level: int = COMPRESSION_LEVEL
    ) -> Shard:
        """Writes a shard and adds it; see `write_shard`.

        Raises:
            ClashError: it disagrees with what is there.
            DbtoolError: it cannot be written.
        """
        with self._mutex:
            self.refuse_clash(footer)
        shard = write_shard(self.folder, footer, tables, compression_level=compression_level)
        self.add(shard)
        return shard

    def receive(self, content: bytes) -> Shard:
        """Writes a shard that was written elsewhere and adds it.

        Args:
            content: of the file.

        Raises:
            FooterError: it is not a shard.
            ClashError: it disagrees with what is there.
            DbtoolError: it cannot be written.
        """
        try:
            with unfinished(self.folder) as (file, temporary):
                file.write(content)
                file.flush()
                footer = read_footer(temporary)
                self.refuse_clash(footer)
                sha256 = hashlib.sha256(content).hexdigest()
                path = shard_path(footer.study.workload.workload, footer.study.batch_size, sha256)
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                finish(file, temporary, self.folder / path)
        except OSError as error:
            raise not_written(self.folder, error) from error
        shard = Shard(path, sha256, len(content), footer)
        self.add(shard)
        return shard

    def add(self, shard: Shard) -> None:
        """Add a shard that lies in the folder; one that was added already changes nothing.

        Raises:
            ClashError: it disagrees with what is there; its file is removed.
            DbtoolError: it cannot be listed.
        """
        with self._mutex:
            try:
                self._take_in(shard)
            except ClashError:
                self._remove(shard)
                raise
            self.list_when_due()

    def list_when_due(self) -> None:
        """Lists what was added, if the last time is some seconds ago; see `list_new`."""
        if time.monotonic() - self._listed_at > _LIST_EVERY_SECONDS:
            self.list_new()

    def list_new(self) -> None:
        """Lists what was added, so that readers that open the release now see it.

        Raises:
            ClashError: another process has added something that disagrees with some of it, which
                is removed.
            DbtoolError: it cannot be written.
        """
        if not self._new:
            return
        with locked(self.folder):
            clash = self._read() if self._was_changed() else None
            self._write()
        if clash:
            raise clash

    def refuse_clash(self, footer: Footer) -> None:
        """Refuses what a shard would say of itself where that disagrees with what is there.

        Raises:
            ClashError: it does.
        """
        if error := self._clash(self.index, footer):
            raise error

    def _clash(self, index: Index, footer: Footer) -> ClashError | None:
        reason = index.clash(footer)
        if reason is None:
            return None
        study = footer.study
        name = f"{study.workload.workload} at batch size {study.batch_size}"
        return ClashError(f"{name} cannot be added to {self.folder}: {reason}")

    def _take_in(self, shard: Shard) -> None:
        if shard.path in self._shards or any(shard.path == each.path for each in self._new):
            return
        self.refuse_clash(shard.footer)
        self.index.add(shard)
        self._new.append(shard)

    def _remove(self, shard: Shard) -> None:
        """Remove a shard that clashes, since it would be in every writer's way."""
        (self.folder / shard.path).unlink(missing_ok=True)

    def _read(self) -> ClashError | None:
        """Take over what the folder lists, beside what was added.

        The new index is assigned once it is complete, since threads read the old one meanwhile.

        Returns:
            The first error of shards that were added and clash with what is listed. They are
            removed.
        """
        manifest: Manifest | None = None
        shards: dict[str, ReleaseFile] = {}
        index = Index()
        if is_release(self.folder):
            manifest, tables = read_release(self.folder)
            if manifest.release != self._about.release:
                raise UsageError(
                    f"{self.folder} holds the release {manifest.release!r} and not "
                    f"{self._about.release!r}: name another folder"
                )
            shards = {file.path: file for file in manifest.shards}
            index = Index.from_tables(tables)
        new, clash = [], None
        for shard in self._new:
            if shard.path in shards:
                continue
            if error := self._clash(index, shard.footer):
                self._remove(shard)
                clash = clash or error
            else:
                index.add(shard)
                new.append(shard)
        self._manifest, self._shards, self._new, self.index = manifest, shards, new, index
        return clash

    def _was_changed(self) -> bool:
        """Whether another process has listed something since this one did."""
        return is_release(self.folder) and read_manifest(self.folder) != self._manifest

    def _take_stock(self) -> None:
        """Takes in shards that a killed writer had not listed, and forgets those that are gone."""
        there = set(shard_paths(self.folder))
        gone = self._shards.keys() - there
        if gone and not there:
            _require_mounted(self.folder)
        if gone:
            self._shards = {path: self._shards[path] for path in self._shards.keys() & there}
            self.index = Index.of(load_shard(self.folder, path) for path in sorted(self._shards))
        for path in sorted(there - self._shards.keys()):
            try:
                self._take_in(load_shard(self.folder, path))
            except ClashError as error:
                raise ClashError(f"{error}; remove {self.folder / path}") from error
        if gone or self._new:
            self._write()

    def _write(self) -> None:
        """Lists all shards."""
        shards = self._shards | {shard.path: shard.listed for shard in self._new}
        about = self._about
        if self._manifest is not None:
            held = msgspec.structs.asdict(self._manifest.about)
            given = msgspec.structs.asdict(about)
            about = About(**{name: held[name] or given[name] for name in held})
        self._manifest = _list(self.folder, about, shards.values(), self.index, self._manifest)
        self._shards = shards
        self._new.clear()
        self._listed_at = time.monotonic()


def rebuild(folder: Path, about: About | None = None) -> Manifest:
    """Makes the index and the manifest of a release folder anew from its shards.

    Args:
        folder: the release folder.
        about: what the release says of itself; None: what its manifest says.

    Raises:
        UsageError: there are no shards.
        DbtoolError: a shard is not sound or clashes with another, the manifest is needed and cannot
            be read, or the folder cannot be written.
        AccessError: a folder in it or a shard cannot be read; what it lists stays.
    """
    if not shard_paths(folder):
        if is_release(folder):
            _require_mounted(folder)
            raise UsageError(f"{folder} holds no shards: there is nothing to make an index of")
        raise UsageError(f"{folder} {lack_of_release(folder)}")
    with locked(folder):
        before = None
        try:
            before = read_manifest(folder)
            about = about or before.about
        except DbtoolError:
            if about is None:
                raise
        check_about(about)
        remove_unfinished(folder)
        shards = [load_shard(folder, path) for path in shard_paths(folder)]
        listed = [shard.listed for shard in shards]
        return _list(folder, about, listed, Index.of(shards), before)


def _require_mounted(folder: Path) -> None:
    """Refuses a release without shards whose folder is empty, as where a disk is not mounted.

    Whoever removes shards by hand leaves the folders of their studies.
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
    """Keeps other processes from changing what a release folder lists.

    Args:
        folder: the release folder.
        seconds: to wait for others.
        remedy: what to do where others do not end, or the folder cannot be written.

    Raises:
        DbtoolError: others do not end, or the folder cannot be written, also in the block.
    """
    try:
        with filelock.FileLock(folder / _LOCK, timeout=seconds):
            yield
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
    """Writes the tables of an index, from `Index.tables`; returns them as a manifest lists them.

    Raises:
        OSError: they cannot be written.
    """
    files = []
    for name, table in tables.items():
        with unfinished(folder) as (file, temporary):
            pq.write_table(table, file, compression="zstd", store_schema=False)
            file.flush()
            listed = ReleaseFile(
                path=name,
                sha256=sha256_of(temporary),
                bytes=temporary.stat().st_size,
                rows=len(table),
            )
            finish(file, temporary, folder / name)
        files.append(listed)
    return files


def _list(
    folder: Path,
    about: About,
    shards: Iterable[ReleaseFile],
    index: Index,
    before: Manifest | None,
) -> Manifest:
    """Writes the index and then the manifest of a release folder.

    Args:
        folder: the release folder.
        about: what the release says of itself.
        shards: all that lie there.
        index: of them.
        before: what the folder listed; None where that is not known.
    """
    files = {*shards, *write_index(folder, index.tables())}
    held = set() if before is None else {*before.shards, *map(before.file, TABLES)}
    if before is not None and (before.about, held) == (about, files):
        return before
    manifest = new_manifest(about, files)
    write_whole(folder / MANIFEST, encode_manifest(manifest))
    if before is not None:
        # What publishing added tells of what the release was.
        for path in (SUMS, *(file.path for file in before.files if file not in held)):
            (folder / path).unlink(missing_ok=True)
    return manifest
