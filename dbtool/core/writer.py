"""Writes release folders: shards first, then the index, and the manifest last, each in one step.

So a killed writer loses at most the shard it is writing. The next writer, or `dbtool index`, lists
the shards that the killed one had not listed.
"""

import contextlib
import hashlib
import io
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec
import pyarrow as pa

from dbtool.core.contract import shard_path
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import make_folder, remove_files, remove_unfinished, write_whole
from dbtool.core.footer import Footer
from dbtool.core.index import ClashError, Index
from dbtool.core.manifest import (
    About,
    Manifest,
    ReleaseFile,
    check_about,
    is_release,
    read_manifest,
)
from dbtool.core.release import (
    load_shard,
    locked,
    read_release,
    require_mounted,
    shard_paths,
    write_listing,
)
from dbtool.core.shards import Shard, not_written, read_footer, write_shard

# How often a writer lists new shards so that readers see them. It also lists them at its end.
_LIST_EVERY_SECONDS = 5.0


class ReleaseWriter:
    """A writer that adds shards to a release folder, which is created where it is missing.

    Several processes may write to one folder at the same time; a lock protects the listing. Threads
    may call `write` of one writer at the same time. Its `index` has the new shards, too.

    Example:
        with ReleaseWriter(folder, About(release="mine")) as writer:
            writer.write(footer, tables)
    """

    def __init__(self, folder: Path, about: About) -> None:
        """Open a release folder to add to; list or remove what killed writers left in it.

        The name must be that of an existing release, whose missing title, licence and citation are
        filled in.

        Raises:
            DbtoolError: the folder has a release of another name, is damaged or cannot be written.
            AccessError: a folder in it cannot be read; the listing is unchanged.
        """
        check_about(about)
        make_folder(folder, "name another one")
        self.folder = folder
        self._about = about
        self._new: dict[str, Shard] = {}
        self._listed_at = time.monotonic()
        self._mutex = threading.Lock()
        with locked(folder):
            remove_unfinished(folder)
            self._read()
            self._take_stock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        # The error of the block is more useful.
        with contextlib.suppress(DbtoolError) if error else contextlib.nullcontext():
            self.list_new()

    @property
    def about(self) -> About:
        """Return the description of the release, with the given one where it has none."""
        if self._manifest is None:
            return self._about
        held, given = (msgspec.structs.asdict(each) for each in (self._manifest, self._about))
        return About(**{name: held[name] or given[name] for name in given})

    def write(self, footer: Footer, tables: Iterable[pa.Table]) -> Shard:
        """Write a shard as `write_shard` does, and add it as `add` does."""
        with self._mutex:
            self.refuse_clash(footer)
        shard = write_shard(self.folder, footer, tables)
        self.add(shard)
        return shard

    def receive(self, content: bytes) -> Shard:
        """Write the bytes of a shard from elsewhere and add it; other bytes are a FooterError."""
        footer = read_footer(io.BytesIO(content))
        self.refuse_clash(footer)
        sha256 = hashlib.sha256(content).hexdigest()
        shard = Shard(shard_path(*footer.study.key, sha256), sha256, len(content), footer)
        try:
            write_whole(self.folder / shard.path, content)
        except OSError as error:
            raise not_written(self.folder, error) from error
        self.add(shard)
        return shard

    def add(self, shard: Shard) -> None:
        """Add a shard that lies in the folder; adding it again changes nothing.

        Raises:
            ClashError: the shard contradicts the release; its file is removed.
            DbtoolError: the shard cannot be listed.
        """
        with self._mutex:
            try:
                self._take_in(shard)
            except ClashError:
                # It would stop every later writer.
                remove_files(self.folder, [shard.path])
                raise
            self.list_when_due()

    def list_when_due(self) -> None:
        """List the new shards if the last listing is some seconds ago; see `list_new`."""
        if time.monotonic() - self._listed_at > _LIST_EVERY_SECONDS:
            self.list_new()

    def list_new(self) -> None:
        """List the new shards, so that readers who open the release now see them.

        Raises:
            ClashError: another process has added what contradicts some of them; these are removed.
            DbtoolError: the listing cannot be written.
        """
        if self._new:
            self._list()

    def describe(self) -> None:
        """Fill in the release's missing title, licence and citation, without new shards too."""
        if self._manifest is not None and self._manifest.about != self.about:
            self._list()

    def _list(self) -> None:
        with locked(self.folder):
            # Another process may have changed the listing since this one last read or wrote it.
            changed = is_release(self.folder) and read_manifest(self.folder) != self._manifest
            clash = self._read() if changed else None
            self._write()
        if clash:
            raise clash

    def refuse_clash(self, footer: Footer, index: Index | None = None) -> None:
        """Raise a ClashError where a footer contradicts the release."""
        if reason := (index or self.index).clash(footer):
            raise self.clash(footer, reason)

    def clash(self, footer: Footer, reason: str) -> ClashError:
        """Return the error for a shard that contradicts the release."""
        name, batch_size = footer.study.key
        return ClashError(
            f"{name} at batch size {batch_size} cannot be added to {self.folder}: {reason}"
        )

    def _take_in(self, shard: Shard) -> None:
        if shard.path in self._shards or shard.path in self._new:
            return
        self.refuse_clash(shard.footer)
        self.index.add(shard)
        self._new[shard.path] = shard

    def _read(self) -> ClashError | None:
        """Read what the folder lists, and add the new shards to it.

        The new index is assigned once it is complete, since threads may be reading the old one.
        New shards that clash with the listed ones are removed; the first such error is returned.
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
        new, clash = dict[str, Shard](), None
        for shard in self._new.values():
            if shard.path in shards:
                continue
            try:
                self.refuse_clash(shard.footer, index)
            except ClashError as error:
                remove_files(self.folder, [shard.path])
                clash = clash or error
            else:
                index.add(shard)
                new[shard.path] = shard
        self._manifest, self._shards, self._new, self.index = manifest, shards, new, index
        return clash

    def _take_stock(self) -> None:
        """Add shards that a killed writer had not listed; drop missing ones from the listing."""
        there = set(shard_paths(self.folder))
        gone = self._shards.keys() - there
        if gone and not there:
            require_mounted(self.folder)
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
        """Write the listing of all shards."""
        shards = self._shards | {path: shard.listed for path, shard in self._new.items()}
        self._manifest = write_listing(
            self.folder, self.about, shards.values(), self.index, self._manifest
        )
        self._shards = shards
        self._new.clear()
        self._listed_at = time.monotonic()
