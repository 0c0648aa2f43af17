"""MNIST and the data sets made like it as arrays, split for training, validation and testing.

An IDX file is a magic number of four bytes (two zeros, the code of the data type, the number of
dimensions), the size of each dimension as a big-endian 32-bit integer, then the values in row-major
order.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dbtool.core.errors import DbtoolError
from producers.datasets.folders import candidate_folders, not_found
from producers.datasets.mnist.locate import SOURCES, DataSource, VerifiedFile, find_file, locate
from producers.datasets.split import Dataset, Request, Split, in_memory

_MAGIC = b"\0\0\x08"  # of unsigned bytes; the number of dimensions follows
_MAGIC_BYTES = _SIZE_BYTES = 4
_CLASSES = 10


def parse_idx(content: bytes, path: Path) -> npt.NDArray[np.uint8]:
    """Return the array in the uncompressed content of an IDX file, whose memory it shares."""
    dimensions = content[3] if len(content) >= _MAGIC_BYTES else 0
    start = _MAGIC_BYTES + _SIZE_BYTES * dimensions
    if not content.startswith(_MAGIC) or not dimensions or len(content) < start:
        raise DbtoolError(
            f"{path} is not an IDX file of unsigned bytes: it begins with 0x{content[:4].hex()};"
            " replace it by the official file"
        )
    shape = np.frombuffer(content, ">u4", dimensions, _MAGIC_BYTES).tolist()
    try:
        return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
    except ValueError as error:
        raise DbtoolError(
            f"{path} is damaged: it states the shape {tuple(shape)} and holds"
            f" {len(content) - start:,} bytes of values; replace it by the official file"
        ) from error


def load_idx(request: Request) -> Dataset:
    """Load a registered data set of IDX files; see `load_source`."""
    return load_source(SOURCES[request.source], request)


def load_source(source: DataSource, request: Request) -> Dataset:
    """Load a data set of IDX files, the known one or a replacement.

    Some of the official training examples are held out for validation. The rest is in an order by a
    fixed seed, of which the first `train_examples` are trained on, so that smaller training sets
    are part of the larger ones and validation is the same for all.

    Of a replacement, the same share of the training examples as in the known data set is held out:
    one in twelve unless others are requested.
    """
    form = replace(request.image_form(1), classes=_CLASSES)
    known, expected = request.folder is None, source.official_examples
    files = locate(source, request.datasets_dir) if known else _replacement(source, request)
    found = [files[file.name] for file in source.files]
    official, test = _examples(*found[:2]), _examples(*found[2:])
    if known and len(official) != expected:
        raise DbtoolError(
            f"{found[0].path} holds {len(official):,} examples, not {expected:,}; replace it by the"
            " official file"
        )
    hashes = {name: file.md5 for name, file in files.items()}
    parts = [(found[1].path, official)], (found[3].path, test)
    return in_memory(request, form, *parts, expected, hashes)


def _replacement(source: DataSource, request: Request) -> dict[str, VerifiedFile]:
    folders = candidate_folders(request)
    files = {}
    for file in source.files:
        found = find_file(folders[0], file)
        if found is None:
            what = f"as {file.name} or .gz"
            raise not_found(source.name, folders, what, source.how_to_get())
        files[file.name] = found
    return files


def _examples(images_file: VerifiedFile, labels_file: VerifiedFile) -> Split:
    images = parse_idx(images_file.content, images_file.path)
    labels = parse_idx(labels_file.content, labels_file.path)
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise DbtoolError(
            f"{images_file.path} holds an array {images.shape} and {labels_file.path} one"
            f" {labels.shape}, not images and a label each; take both files from the same data set"
        )
    return Split(inputs=images, targets=labels)
