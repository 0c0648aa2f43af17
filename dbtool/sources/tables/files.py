"""The files of own runs, and the columns in their names."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from glob import has_magic
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from dbtool.core.errors import UsageError
from dbtool.core.walk import files_matching, is_file, is_folder, status_of, walk
from dbtool.store.table_files import TableFormat, table_format

# Ends the name of a part in braces that may span several folders.
_SLASHES = ":path"


def find_files(
    paths: Sequence[Path], kind: TableFormat, name: str | None = None, besides: Path | None = None
) -> list[Path]:
    """List the files that paths stand for, each once, sorted by name within a path.

    The files of folders have the name, a `NamePattern`, or without one the ending of the kind. One
    of them may not count, such as the table of runs.

    Raises:
        UsageError: a source does not exist, or stands for no file.
        AccessError: a folder cannot be read.
    """
    pattern = None if name is None else NamePattern(name)

    def fits(path: Path) -> bool:
        if besides is not None and path.resolve() == besides.resolve():
            return False
        if pattern is None:
            return table_format(path) == kind
        return pattern.of_file(path) is not None

    found: dict[Path, None] = {}
    for path in paths:
        if not (there := files_of(path, fits)):
            wanted = f"is named as the mapping says, {name}" if name else f"ends in .{kind}"
            raise UsageError(
                f"no file in {path} {wanted}" if is_folder(path) else f"no file fits {path}"
            )
        found |= dict.fromkeys(there)
    return list(found)


def files_of(path: Path, fits: Callable[[Path], bool]) -> list[Path]:
    """List the files that a path stands for, sorted by name; empty where there are none.

    It is a file, a pattern such as runs/**/metrics.csv, or a folder, of whose files some fit.

    Raises:
        UsageError: the path does not exist.
        AccessError: a folder cannot be read.
    """
    require_there(path)
    if is_folder(path):
        return [each for each in files_below(path) if fits(each)]
    if status_of(path) is not None:
        return [path]
    below = str(path.relative_to(path.anchor))
    return sorted(files_matching(Path(path.anchor), below), key=_natural)


def require_there(path: Path) -> None:
    """Raise UsageError for a path that does not exist, unless it is a pattern."""
    if status_of(path) is None and not has_magic(str(path)):
        raise UsageError(f"{path} does not exist: name a file, a folder, or a pattern in quotes")


def files_below(folder: Path) -> list[Path]:
    """List the files in a folder and below it, sorted by name, without hidden ones.

    Raises:
        AccessError: a folder cannot be read.
    """
    found = walk(folder, hidden=False)
    return sorted((Path(entry.path) for entry in found if is_file(entry.path)), key=_natural)


def _natural(path: Path) -> list[tuple[bool, int, str]]:
    """Return a sort key that puts trial_2 before trial_10."""
    parts = re.split(r"([0-9]+)", str(path))
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


class NamePattern:
    """A pattern of paths with forward slashes, whose parts in braces stand for any text.

    It matches the end of a path, so it may name folders too; {name:path} also matches slashes. Of
    several readings the one counts whose first part is longest, then its second, and so on.

    Attributes:
        parts: the names of the parts.

    Example:
        >>> NamePattern("{run}/lr-{rate}.csv").read("logs/a/lr-0.1.csv")
        {'run': 'a', 'rate': '0.1'}
    """

    def __init__(self, text: str) -> None:
        """Compile a pattern.

        Raises:
            ValueError: the text has no part, a part without a name of its own, two parts without
                text between them, or a first part that takes slashes and has no text before it.
        """
        texts_and_names = re.split(r"\{([^{}]*)\}", text)
        texts, names = texts_and_names[::2], texts_and_names[1::2]
        self.parts = [name.removesuffix(_SLASHES) for name in names]
        is_named = len(set(self.parts)) == len(names) and all(map(str.isidentifier, self.parts))
        is_apart = all(texts[1:-1]) and not re.search("[{}]", "".join(texts))
        if not names or not is_named or not is_apart:
            raise ValueError(
                "is not a pattern such as {study}/trial_{run}.csv: each part in braces has a name "
                "of its own, and text between it and the next"
            )
        if names[0].endswith(_SLASHES) and not texts[0]:
            raise ValueError("begins with a part that takes slashes: put a folder's name before it")
        any_texts = ["(.+)" if name.endswith(_SLASHES) else "([^/]+)" for name in names]
        pairs = zip(any_texts, map(re.escape, texts[1:]), strict=True)
        ends = "".join(f"{any_text}{end}" for any_text, end in pairs)
        self._expression = rf"\A(?s:(?:.*/)?{re.escape(texts[0])}{ends})\z"

    def read(self, path: str) -> dict[str, str] | None:
        """Return the texts of the parts; None for a path that does not match."""
        # Polars' expressions take linear time, unlike those of Python.
        names = pl.Series([path]).str.extract_groups(self._expression)
        texts = names.struct.unnest().row(0)
        return None if texts[0] is None else dict(zip(self.parts, texts, strict=True))

    def of_file(self, path: Path) -> dict[str, str] | None:
        """Return the parts of a file's path, links followed or not, without escapes; see `read`."""
        for each in (path.resolve(), path.absolute()):
            if named := self.read(each.as_posix()):
                return {name: part_of(text) for name, text in named.items()}
        return None


def part_of(text: str) -> str:
    """Return a part of a path as its writer meant it: without the escapes of lr=0%2E1."""
    text = unicodedata.normalize("NFC", unquote(text))
    return "" if text == "__HIVE_DEFAULT_PARTITION__" else text
