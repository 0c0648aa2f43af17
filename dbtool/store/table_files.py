"""Files of tables: opened, their formats by their names, and errors in them, reported at once."""

import bz2
import contextlib
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias, get_args

from dbtool.core.errors import DbtoolError, closest, counted, few_of
from dbtool.core.files import open_file

TableFormat: TypeAlias = Literal["csv", "jsonl", "parquet"]
TABLE_FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)
"""The formats of tables, whose columns a mapping describes."""
FRAME = Path("the frame")
"""Stands for a frame in memory where a file could be."""
BLANKS = " \t"
"""Letters that are trimmed from names and values."""
_ENDING = re.compile(
    r"\.(?P<format>csv|tsv|jsonl|ndjson|parquet)(\.(gz|zst|xz|bz2))?\Z", re.IGNORECASE
)
SHORT = "is compressed and cut short"
_SAME = {"ndjson": "jsonl", "tsv": "csv"}
_MOST_OF_A_KIND, _MOST_PROBLEMS = 3, 20
# Sentences that differ only in quoted texts and numbers are of one kind.
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|[\d.,]+")


def table_format(path: Path) -> TableFormat | None:
    """Return the format that the file's name implies, compressed or not; None for other names.

    Example:
        >>> table_format(Path("runs/a.csv.gz"))
        'csv'
    """
    ending = _ENDING.search(path.name)
    name = ending["format"].lower() if ending else ""
    return next((each for each in TABLE_FORMATS if each == _SAME.get(name, name)), None)


def stem(path: Path) -> str:
    """Return a file's name without the endings of its format and compression."""
    return _ENDING.sub("", path.name) or path.stem if table_format(path) else path.stem


def ending(path: str) -> str:
    """Return the endings of a file's format and compression; empty for other names."""
    found = _ENDING.search(path)
    return found[0] if found else ""


class RunsError(DbtoolError):
    """Files of tables are malformed or not as their mapping describes; nothing of them is stored.

    Errors that are alike have one `kind`.
    """

    kind: str | None = None


class Position(NamedTuple):
    """A line of a file, counted from 1 (in Parquet and frames, a row); 0 is the whole file."""

    path: Path
    line: int

    def __str__(self) -> str:
        is_rows = self.path == FRAME or table_format(self.path) == "parquet"
        word = "row" if is_rows else "line"
        return f"{self.path} {word} {self.line:,}" if self.line else str(self.path)

    def error(self, column: str | None, reason: str) -> RunsError:
        """Return an error here, in a column, or a metric of the long format, or else the whole."""
        where = "" if column is None else f", column {shown(column)}"
        error = RunsError(f"{self}{where}: {reason}")
        error.kind = f"{where}{_DETAILS.sub('', reason)}"
        return error


def shown(text: str) -> str:
    """Return a text from a file in quotes, cut where it is long, safe for a terminal."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressed."""
    try:
        with open_file(path) as file:
            yield _decompressed(file)
    except UnicodeError as error:
        raise RunsError(
            f"{path} is not UTF-8: write it anew in that encoding, as `iconv -f latin1 -t utf-8` "
            "does where it is Latin-1"
        ) from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        if is_cut(error):
            raise RunsError(f"{path} {SHORT}: copy it anew") from error
        reason = getattr(error, "strerror", None) or error
        raise RunsError(f"{path} cannot be read: {reason}") from error


def _decompressed(file: io.BufferedReader) -> BinaryIO:
    start = file.peek(6)
    for mark, reader in _COMPRESSED.items():
        if start.startswith(mark):
            return io.BufferedReader(reader(file))
    return file


def is_cut(error: Exception) -> bool:
    """Return whether compressed bytes end too soon; each library says so in its own way."""
    return isinstance(error, EOFError) or "runcated" in str(error)


def _zstd(file: BinaryIO) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


_COMPRESSED: Mapping[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstd,
}


class Problems:
    """Errors in files, collected so that they are reported at once.

    In a `with` block, a `DbtoolError` ends the block and is kept.
    """

    def __init__(self) -> None:
        self._alike: dict[str, list[DbtoolError]] = {}
        self._left_out = 0

    def __len__(self) -> int:
        return sum(map(len, self._alike.values())) + self._left_out

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if isinstance(error, DbtoolError):
            self.add(error)
            return True
        return False

    def add(self, error: DbtoolError) -> None:
        """Keep an error; a repeated one only once."""
        alike = self._alike.setdefault(getattr(error, "kind", None) or str(error), [])
        if str(error) in map(str, alike):
            return
        if len(alike) < _MOST_OF_A_KIND:
            alike.append(error)
        else:
            self._left_out += 1

    def add_all(self, errors: Iterable[DbtoolError], count: int) -> None:
        """Keep the first of several errors of one kind, and count the others."""
        for _, error in zip(range(_MOST_OF_A_KIND), errors, strict=False):
            self.add(error)
        self._left_out += max(0, count - _MOST_OF_A_KIND)

    def refuse(self) -> None:
        """Raise the kept errors: the first few of each kind, a sentence each, and how many more."""
        errors = [error for alike in self._alike.values() for error in alike]
        if len(errors) == 1:
            raise errors[0]
        if errors:
            left_out = len(self) - min(len(errors), _MOST_PROBLEMS)
            more = [f"and {counted(left_out, 'more problem')} like these"] if left_out else []
            raise RunsError(*map(str, errors[:_MOST_PROBLEMS]), *more)


class Notes:
    """What is odd in files that are read all the same: a sentence each, with the files' names."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, None]] = {}

    def add(self, sentence: str) -> None:
        """Keep a sentence."""
        self._files.setdefault(sentence, {})

    def of_file(self, path: Path, sentence: str) -> None:
        """Keep a sentence about a file, which is told once of all such files."""
        self._files.setdefault(sentence, {})[str(path)] = None

    def sentences(self) -> list[str]:
        """Return the sentences, each after the first few of its files."""
        return [
            f"{few_of(list(names), _MOST_OF_A_KIND)}: {sentence}" if names else sentence
            for sentence, names in self._files.items()
        ]


def among(word: str, choices: Iterable[str]) -> str:
    """Return the closest choices, for the end of a sentence."""
    return ", ".join(map(shown, closest(word, choices))) or "none"
