"""CIFAR-10 in both of its native formats, split for training, validation and testing.

A binary batch is one record after another: the label in one byte, then the image in 3,072, first
all red values in row-major order, then green, then blue. A Python batch is a pickled dictionary
whose `data` is an array [images, 3072] of the same order and whose `labels` is a list. Unpickling
runs whatever a file names, so the reader here resolves no name of the file: in place of the
few that such files need it puts functions that can do nothing but build an array of bytes.
"""

import hashlib
import io
import pickle
import pickletools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dbtool.core.errors import DbtoolError
from producers.datasets.folders import candidate_folders, not_found, read_bytes
from producers.datasets.split import Dataset, Request, Split, in_memory

_CLASSES = 10
_KNOWN_SIZES = {"train": 50_000, "test": 10_000}
_HOW_TO_GET = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz or cifar-10-python.tar.gz there,"
    " unpacked in a folder named by --datasets"
)
# Of the Python batches; of the binary ones, whose content must be the same, only sizes and the
# number of images of each class are checked.
_KNOWN_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
_SIDE = 32
_CHANNELS = 3
_PIXELS = _CHANNELS * _SIDE * _SIDE
_RECORD = 1 + _PIXELS


def load_cifar_10(request: Request) -> Dataset:
    """Load CIFAR-10 from its binary or its Python batches, the known data set or a replacement.

    Of the 50,000 official training examples those requested are held out for validation; the first
    `train_examples` of the rest, in an order by a fixed seed, are trained on. Of a replacement,
    which may have from one to five batches of any size, the same share is held out; its classes are
    those up to the highest label of its training examples.
    """
    form = replace(request.image_form(3), classes=_CLASSES)
    known = request.folder is None
    parse, paths = _find(request)
    contents = [read_bytes(path) for path in paths]
    hashes = {
        path.name: hashlib.md5(content, usedforsecurity=False).hexdigest()
        for path, content in zip(paths, contents, strict=True)
    }
    folder = paths[0].parent
    if known:
        _check_hashes(hashes, folder)
    *batches, test = zip(paths, map(parse, contents, paths), strict=True)
    if known:
        _check_sizes(folder, train=[batch for _, batch in batches], test=[test[1]])
    return in_memory(request, form, batches, test, _KNOWN_SIZES["train"], hashes)


def _find(request: Request) -> tuple[Callable[[bytes, Path], Split], list[Path]]:
    """Return the parser of the batches, and their paths: those of training, then the test's."""
    folders = candidate_folders(request, inside=[name for name, _, _ in _FORMATS])
    fewest = 6 if request.folder is None else 2
    for folder in folders:
        for _, suffix, parse in _FORMATS:
            names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
            wanted = [folder / f"{name}{suffix}" for name in names]
            paths = [path for path in wanted if path.is_file()]
            if len(paths) >= fewest and paths[-1].name.startswith("test"):
                return parse, paths
    what = "data_batch_1 to data_batch_5 and test_batch, with or without .bin"
    raise not_found(request.source, folders, what, _HOW_TO_GET)


def _check_hashes(hashes: dict[str, str], folder: Path) -> None:
    for name, found in hashes.items():
        md5 = _KNOWN_MD5.get(name, found)
        if found != md5:
            raise DbtoolError(
                f"{folder / name} is not the known {name}: its MD5 should be {md5} and is {found};"
                f" get it from {_HOW_TO_GET}"
            )


def _check_sizes(folder: Path, **splits: Sequence[Split]) -> None:
    """Refuse examples that cannot be those of the known data set: it has as many of each class."""
    for name, batches in splits.items():
        size = _KNOWN_SIZES[name]
        labels = np.concatenate([batch.targets for batch in batches])
        counts = np.bincount(labels, minlength=_CLASSES)
        if len(labels) != size or (counts != size // _CLASSES).any():
            raise DbtoolError(
                f"{folder} holds {len(labels):,} {name} examples of CIFAR-10, from {counts.min():,}"
                f" to {counts.max():,} a class, not {size:,}, {size // _CLASSES:,} a class; get it"
                f" from {_HOW_TO_GET}"
            )


def parse_binary(content: bytes, path: Path) -> Split:
    """Return the examples in the content of a binary batch: uint8 [n, 32, 32, 3] and uint8 [n]."""
    if not content or len(content) % _RECORD:
        raise DbtoolError(
            f"{path} holds {len(content):,} bytes, not a whole number of records of {_RECORD:,};"
            " replace it by the official file"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
    return Split(inputs=_images(records[:, 1:]), targets=records[:, 0])


def parse_python(content: bytes, path: Path) -> Split:
    """Return the examples in a Python batch, as `parse_binary`; nothing of it is run."""
    batch = _unpickle(content, path)
    entries = {_text(key): batch[key] for key in batch} if isinstance(batch, dict) else {}
    data, labels = entries.get("data"), entries.get("labels")
    shape = getattr(data, "shape", ())
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or shape[1:] != (_PIXELS,):
        raise _no_batch(path, f"`data` is not an array of bytes of {_PIXELS:,} columns")
    labels = labels if isinstance(labels, list) else []
    are_bytes = all(type(label) is int and 0 <= label <= 255 for label in labels)
    if not (are_bytes and len(labels) == len(data) > 0):
        raise _no_batch(path, f"`labels` is not a list of {len(data):,} whole numbers up to 255")
    return Split(inputs=_images(data), targets=np.array(labels, np.uint8))


def _images(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return rows.reshape(-1, _CHANNELS, _SIDE, _SIDE).transpose(0, 2, 3, 1)


def _unpickle(content: bytes, path: Path) -> object:
    """Unpickle a file that consists of plain values and arrays of bytes."""
    try:
        _check_memory(content)
        return _BatchUnpickler(io.BytesIO(content), encoding="bytes").load()
    except _RefusedNameError as error:
        raise DbtoolError(
            f"{path} names {error}, which no batch of CIFAR-10 needs and which was not run; replace"
            " it by the official file"
        ) from error
    # A damaged pickle fails in as many ways as there are operations in it.
    except (
        pickle.UnpicklingError,
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:
        raise _no_batch(path, f"its pickle is damaged ({type(error).__name__})") from error


def _check_memory(content: bytes) -> None:
    """Refuse a pickle that numbers what it remembers beyond its own size.

    The unpickler makes room up to the highest number, so that a few bytes could fill the memory.
    """
    with warnings.catch_warnings():
        # Damaged text may hold escapes that Python warns of.
        warnings.simplefilter("ignore", DeprecationWarning)
        for operation, argument, _ in pickletools.genops(content):
            if "PUT" in operation.name and isinstance(argument, int) and argument > len(content):
                raise pickle.UnpicklingError("a number beyond the size of the pickle")


def _no_batch(path: Path, reason: str) -> DbtoolError:
    return DbtoolError(
        f"{path} is not a Python batch of CIFAR-10: {reason}; replace it by the official file"
    )


def _text(key: object) -> object:
    """Return a key as text, as Python 2 and Python 3 write it."""
    return key.decode("latin-1") if isinstance(key, bytes) else key


class _RefusedNameError(Exception):
    """A pickle names something that it does not need; the message is the name."""


class _BatchUnpickler(pickle.Unpickler):
    """Unpickles plain values and arrays of bytes, and refuses every other name unresolved."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return the stand-in for a name of the file."""
        name = f"{module_name}.{global_name}"
        if name not in _STAND_INS:
            raise _RefusedNameError(name)
        return _STAND_INS[name]


class _ArrayType:
    """Stands for the class of arrays, which a pickle shall pass on but not call."""


def _empty_array(kind: object, shape: object, code: object) -> npt.NDArray[np.uint8]:
    """Stands for `_reconstruct`: an array that takes its shape and values from a later state."""
    del code
    if kind is not _ArrayType or shape != (0,):
        raise pickle.UnpicklingError("an array that is not built from a state")
    return np.empty(0, np.uint8)


def _byte_type(name: object, align: object = False, copy: object = False) -> np.dtype[np.uint8]:
    """Stands for `dtype`: that of bytes alone, a new one since a state is put into it."""
    del align, copy
    if _text(name) not in {"u1", "uint8"}:
        raise pickle.UnpicklingError("an array of other values than bytes")
    return np.dtype(np.uint8)


def _latin_bytes(text: object, encoding: object) -> bytes:
    """Stands for `_codecs.encode`, as which Python 3 writes bytes for Python 2."""
    if not isinstance(text, str) or _text(encoding) != "latin1":
        raise pickle.UnpicklingError("text that is not bytes")
    return text.encode("latin-1")


_STAND_INS: dict[str, Callable[..., object]] = {
    "numpy.core.multiarray._reconstruct": _empty_array,
    "numpy._core.multiarray._reconstruct": _empty_array,
    "numpy.ndarray": _ArrayType,
    "numpy.dtype": _byte_type,
    "_codecs.encode": _latin_bytes,
}
# What the official archives unpack to, the ends of their batches' names, and who reads them.
_FORMATS = (
    ("cifar-10-batches-bin", ".bin", parse_binary),
    ("cifar-10-batches-py", "", parse_python),
)
