"""Read IDX files, the native format of MNIST and of the data sets made like it.

An IDX file is a magic number of four bytes (two zeros, the code of the data type, the number of
dimensions), the size of each dimension as a big-endian 32-bit integer, then the values in row-major
order.
"""

from __future__ import annotations

import gzip
import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from dbtool.core.errors import DbtoolError
from producers.datasets.folders import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_GZIP_MAGIC = b"\x1f\x8b"
_UNSIGNED_BYTE = 0x08
_OTHER_TYPES = {0x09: "int8", 0x0B: "int16", 0x0C: "int32", 0x0D: "float32", 0x0E: "float64"}
_MAGIC_BYTES = _SIZE_BYTES = 4


def read_content(path: Path) -> bytes:
    """Return the content of a file, decompressed if its content is gzip, whatever its name."""
    content = read_bytes(path)
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DbtoolError(f"{path} is a damaged gzip file: {error}") from error


def parse_idx(content: bytes, path: Path) -> npt.NDArray[np.uint8]:
    """Return the array in the uncompressed content of an IDX file, whose memory it shares."""
    shape, start = _parse_header(content, path)
    expected, found = math.prod(shape), len(content) - start
    if found < expected:
        raise DbtoolError(
            f"{path} is truncated: {expected:,} bytes of values stated, {found:,} found"
        )
    if found > expected:
        raise DbtoolError(f"{path} has {found - expected:,} trailing bytes after its values")
    try:
        return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
    except ValueError as error:
        raise DbtoolError(f"{path} states a shape that no array can have: {error}") from error


def _parse_header(content: bytes, path: Path) -> tuple[tuple[int, ...], int]:
    if len(content) < _MAGIC_BYTES:
        raise DbtoolError(f"{path} is truncated: {len(content)} bytes hold no IDX header")
    zeros, data_type, dimensions = content[:2], content[2], content[3]
    if zeros != b"\0\0" or dimensions == 0:
        raise DbtoolError(f"{path} is not an IDX file: its magic number is 0x{content[:4].hex()}")
    if data_type != _UNSIGNED_BYTE:
        name = _OTHER_TYPES.get(data_type, "unknown")
        raise DbtoolError(
            f"{path} holds values of data type 0x{data_type:02x} ({name}), not uint8 (0x08)"
        )
    start = _MAGIC_BYTES + _SIZE_BYTES * dimensions
    if len(content) < start:
        raise DbtoolError(f"{path} is truncated: its header of {start} bytes is not whole")
    sizes = np.frombuffer(content, dtype=">u4", count=dimensions, offset=_MAGIC_BYTES)
    return tuple(sizes.tolist()), start
