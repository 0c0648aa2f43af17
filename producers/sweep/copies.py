"""The copy of a release folder, and of what its sweep goes on from, in an object store.

Each file is copied once it is whole, and in an order that leaves the copy sound at any moment:
shards and the files of a checkpoint first, then the checkpoint's digest and the index, and last the
manifest. Checkpoints that the folder no longer has are removed after that; nothing else ever is.
"""

import contextlib
import shutil
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dbtool.core.errors import DbtoolError, UsageError, first_sentence
from dbtool.core.files import finish, unfinished
from dbtool.core.index import TABLES
from dbtool.core.manifest import MANIFEST, MEASUREMENTS, SWEEP_WORK, is_release, parse_manifest
from dbtool.core.release import locked
from dbtool.core.resources import how_to_install
from dbtool.core.walk import walk
from producers.sweep.events import UNHEARD, SweepEvents
from producers.training.saved import DIGEST_SUFFIX, NotSavedWarning

_LISTING = (*TABLES, MANIFEST)
_EVERY_SECONDS = 5.0


@contextlib.contextmanager
def copied(folder: Path, url: str | None, release: str) -> Iterator[SweepEvents]:
    """Keep a copy of a sweep's folder at a URL, if there is one, while the sweep runs in the block.

    Before it, what lies there and not in the folder is copied back; after it, however it ends, what
    is not there yet is copied.

    Yields:
        The events of the sweep by which it copies now and then, beside the training.

    Raises:
        UsageError: the URL is not one that can be written to, or has another release.
        DbtoolError: its library is not installed, or the server does not answer or refuses.
    """
    if url is None:
        yield UNHEARD
        return
    copy = _Copy(folder, url)
    copy.fetch(release)
    try:
        yield SweepEvents(on_steps=lambda _: copy.send_when_due())
    finally:
        copy.close()


class _Copy:
    def __init__(self, folder: Path, url: str) -> None:
        from fsspec import available_protocols
        from fsspec.core import url_to_fs

        protocol, _, place = url.partition("://")
        if not place or protocol not in available_protocols():
            raise UsageError(
                f"--copy-to is {url}, and should be a URL such as s3://BUCKET/runs or "
                "gs://BUCKET/runs"
            )
        try:
            self._files, self._root = url_to_fs(url.rstrip("/"))
        except ImportError as error:
            raise DbtoolError(
                f"copying to {protocol}:// needs a library that is not installed: "
                f"{how_to_install('cloud')}"
            ) from error
        self._files.auto_mkdir = True  # of file://; object stores have no folders
        self._folder, self._url = folder, url
        # By path, the size and time of the file here that lies there, or the bytes of a listing.
        self._there: dict[str, Any] = {}
        self._sender = ThreadPoolExecutor(1)
        self._sending: Future[None] = Future()
        self._sending.set_result(None)
        self._sent = time.monotonic()

    def fetch(self, release: str) -> None:
        """Copy back what lies there and not here; the order is that of sending."""
        with self._reaching():
            found = self._files.find(self._root, detail=True)
            details = {path.removeprefix(self._root).lstrip("/"): found[path] for path in found}
            if MANIFEST in details:
                manifest = parse_manifest(self._files.cat_file(self._at(MANIFEST)), self._url)
                if manifest.release != release:
                    raise UsageError(
                        f"{self._url} holds the release {manifest.release!r} and not {release!r}: "
                        "name another one with --copy-to"
                    )
            for path in sorted(details, key=_order):
                own, *below = path.split("/")
                is_ours = path in _LISTING or (own in {MEASUREMENTS, SWEEP_WORK} and below)
                if not is_ours or ".." in below:
                    continue
                here = self._folder / path
                self._there[path] = None
                if not here.exists():
                    with (
                        unfinished(here.parent) as (file, temporary),
                        self._files.open(self._at(path), "rb") as source,
                    ):
                        shutil.copyfileobj(source, file)
                        finish(file, temporary, here)
                elif own != MEASUREMENTS or here.stat().st_size != details[path]["size"]:
                    continue
                self._there[path] = _stamp(here)

    def send_when_due(self) -> None:
        """Send what is new in a thread, unless it still sends or did so seconds ago.

        Where that fails, it warns, and the next one sends the rest.
        """
        if self._sending.done() and time.monotonic() - self._sent > _EVERY_SECONDS:
            if error := self._sending.exception():
                warnings.warn(f"{error}; training goes on", NotSavedWarning, stacklevel=2)
            self._sending = self._sender.submit(self._send)
            self._sent = time.monotonic()

    def close(self) -> None:
        """Send what is not there yet, and wait for it."""
        self._sender.shutdown()
        self._send()

    def _send(self) -> None:
        listing = {}
        if is_release(self._folder):
            # Read first, so that all that it lists is sent before it.
            with locked(self._folder):
                listing = {name: (self._folder / name).read_bytes() for name in _LISTING}
        here = self._whole()
        # Of a checkpoint that was being removed meanwhile this may have found a part.
        while here != (again := self._whole()):
            here = again
        with self._reaching():
            for path in sorted(here, key=_order):
                file = self._folder / path
                try:
                    if self._there.get(path) != (stamp := _stamp(file)):
                        self._files.put_file(str(file), self._at(path))
                        self._there[path] = stamp
                except FileNotFoundError:
                    if file.exists():
                        raise
                    # A later checkpoint has taken its place meanwhile.
                    return
            for name, content in listing.items():
                if self._there.get(name) != content:
                    self._files.pipe_file(self._at(name), content)
                    self._there[name] = content
            work = {path for path in self._there if path.startswith(f"{SWEEP_WORK}/")}
            for path in sorted(work - here, key=_order, reverse=True):
                self._files.rm_file(self._at(path))
                del self._there[path]

    def _whole(self) -> set[str]:
        """List the shards here, and of what the sweep goes on from what is complete."""
        found = [
            Path(entry.path)
            for name in (MEASUREMENTS, SWEEP_WORK)
            for entry in walk(self._folder / name)
            if entry.is_file()
        ]
        complete = {path.with_suffix("") for path in found if path.suffix == DIGEST_SUFFIX}
        return {
            path.relative_to(self._folder).as_posix()
            for path in found
            if path.suffix in {".parquet", DIGEST_SUFFIX} or complete.intersection(path.parents)
        }

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except DbtoolError:
            raise
        # Each library raises errors of its own.
        except Exception as error:
            raise DbtoolError(
                f"cannot copy between {self._folder} and {self._url} ({first_sentence(error)}); "
                "what was trained is safe here, and the same command copies what is not there yet"
            ) from error


def _order(path: str) -> tuple[bool, bool, str]:
    return path == MANIFEST, path in TABLES or path.endswith(DIGEST_SUFFIX), path


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
