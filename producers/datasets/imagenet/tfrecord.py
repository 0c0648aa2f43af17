"""Reading TFRecord files without TensorFlow.

A file is one record after another: the length of its data as a 64-bit integer, a masked CRC-32C of
those eight bytes, the data, and a masked CRC-32C of it; integers are little-endian. The mask turns
a sum by 15 bits and adds a constant, since sums of data that holds sums are of little use.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import google_crc32c
import numpy as np

from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_LENGTH_BYTES = 8
_MASK = 0xA282EAD8
_UINT32 = 0xFFFFFFFF

HEADER_BYTES = _HEADER.size
"""How many bytes of a record come before its data."""


def masked_crc(data: bytes) -> int:
    """The masked CRC-32C of some data, as a TFRecord file holds it."""
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + _MASK) & _UINT32


def index_records(path: Path) -> npt.NDArray[np.int64]:
    """Where the records of a file lie; their data is skipped, not read.

    Args:
        path: the file.

    Returns:
        int64 [records, 2]: offset and length of the data of each, in bytes.

    Raises:
        DbtoolError: the file cannot be read, or is no whole TFRecord file.
    """
    places = []
    try:
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            position = 0
            while position < size:
                header = os.pread(file.fileno(), _HEADER.size, position)
                start = position + _HEADER.size
                length = _length(header, path, position)
                position = start + length + _FOOTER.size
                if position > size:
                    raise _truncated(path, start - _HEADER.size)
                places.append((start, length))
    except OSError as error:
        raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error
    return np.array(places, np.int64).reshape(-1, 2)


def read_record(path: Path, offset: int, length: int) -> bytes:
    """The data of a record, verified.

    Args:
        path: the file.
        offset: of the data, in bytes.
        length: of the data, in bytes.

    Raises:
        DbtoolError: the file cannot be read, or the data is not what was written.
    """
    try:
        with path.open("rb", buffering=0) as file:
            content = os.pread(file.fileno(), length + _FOOTER.size, offset)
    except OSError as error:
        raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) != length + _FOOTER.size:
        raise _truncated(path, offset - _HEADER.size)
    data = content[:length]
    if masked_crc(data) != _FOOTER.unpack_from(content, length)[0]:
        raise DbtoolError(
            f"{path} is damaged: the CRC of its record at byte {offset - _HEADER.size:,} is wrong;"
            " replace the file"
        )
    return data


def _length(header: bytes, path: Path, position: int) -> int:
    """The length that the header of a record states, verified."""
    if len(header) < _HEADER.size:
        raise _truncated(path, position)
    length, crc = _HEADER.unpack(header)
    if masked_crc(header[:_LENGTH_BYTES]) != crc:
        raise DbtoolError(
            f"{path} is no TFRecord file or is damaged: the CRC of the length at byte"
            f" {position:,} is wrong; replace the file"
        )
    return int(length)


def _truncated(path: Path, position: int) -> DbtoolError:
    return DbtoolError(
        f"{path} is truncated: its record at byte {position:,} is not whole; replace the file"
    )
