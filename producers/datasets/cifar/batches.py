"""Reading the batches of CIFAR-10 in both of their native formats.

A binary batch is one record after another: the label in one byte, then the image in 3,072, first
all red values in row-major order, then green, then blue. A Python batch is a pickled dictionary
whose `data` is an array [images, 3072] of the same order and whose `labels` is a list. Unpickling
runs whatever a file names, so the reader here resolves no name of the file: in place of the
few that such files need it puts functions that can do nothing but build an array of bytes.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import TYPE_CHECKING, Any

import numpy as np

from dbtool.core.errors import DbtoolError
from producers.datasets.split import Split

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

SIDE = 32
CHANNELS = 3
_PIXELS = CHANNELS * SIDE * SIDE
_RECORD = 1 + _PIXELS


def parse_binary(content: bytes, path: Path) -> Split:
    """The examples in the content of a binary batch: uint8 [n, 32, 32, 3] and uint8 [n]."""
    if not content or len(content) % _RECORD:
        raise DbtoolError(
            f"{path} holds {len(content):,} bytes, not a whole number of records of {_RECORD:,};"
            " replace it by the official file"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
    return Split(inputs=_images(records[:, 1:]), targets=records[:, 0])


def parse_python(content: bytes, path: Path) -> Split:
    """The examples in the content of a Python batch, of which nothing is run, as `parse_binary`."""
    batch = _unpickle(content, path)
    if not isinstance(batch, dict):
        raise _no_batch(path, f"it holds a {type(batch).__name__}, not a dictionary")
    entries = {_text(key): value for key, value in batch.items()}
    data, labels = entries.get("data"), entries.get("labels")
    shape = getattr(data, "shape", ())
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or shape[1:] != (_PIXELS,):
        raise _no_batch(path, f"`data` is no array of bytes of {_PIXELS:,} columns")
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise _no_batch(path, "`labels` is no list of whole numbers")
    if len(labels) != len(data) or not labels:
        raise _no_batch(path, f"it has {len(data):,} images and {len(labels):,} labels")
    if not 0 <= min(labels) <= max(labels) <= 255:
        raise _no_batch(path, f"its labels go from {min(labels)} to {max(labels)}")
    return Split(inputs=_images(data), targets=np.array(labels, np.uint8))


def _images(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return rows.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)


def _unpickle(content: bytes, path: Path) -> object:
    """What a pickle holds that consists of plain values and arrays of bytes."""
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
    """Refuses a pickle that numbers what it remembers beyond its own size.

    The unpickler makes room up to the highest number, so that a few bytes could fill the memory.
    """
    for operation, argument, _ in pickletools.genops(content):
        if "PUT" in operation.name and isinstance(argument, int) and argument > len(content):
            raise pickle.UnpicklingError("a number beyond the size of the pickle")


def _no_batch(path: Path, reason: str) -> DbtoolError:
    return DbtoolError(
        f"{path} is no Python batch of CIFAR-10: {reason}; replace it by the official file"
    )


def _text(key: object) -> object:
    """A key as text, as Python 2 and Python 3 write it."""
    return key.decode("latin-1") if isinstance(key, bytes) else key


class _RefusedNameError(Exception):
    """A pickle names something that it does not need; the message is the name."""


class _BatchUnpickler(pickle.Unpickler):
    """Unpickles plain values and arrays of bytes, and refuses every other name unresolved."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """What stands for a name of the file."""
        name = f"{module_name}.{global_name}"
        try:
            return _STAND_INS[name]
        except KeyError:
            raise _RefusedNameError(name) from None


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
        raise pickle.UnpicklingError("text that is no bytes")
    return text.encode("latin-1")


_STAND_INS: dict[str, Callable[..., object]] = {
    "numpy.core.multiarray._reconstruct": _empty_array,
    "numpy._core.multiarray._reconstruct": _empty_array,
    "numpy.ndarray": _ArrayType,
    "numpy.dtype": _byte_type,
    "_codecs.encode": _latin_bytes,
}
