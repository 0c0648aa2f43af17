"""The folders of this machine that data sets are looked for in."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING

import platformdirs

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import expanded, open_file, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from producers.datasets.split import Request

DATASETS_VARIABLE = "DBTOOL_DATASETS"
"""The environment variable that names the folder of data sets when no argument does."""


def default_cache() -> Path:
    """Return the folder that keeps fetched data sets, each in a folder of its own name."""
    return platformdirs.user_cache_path("dbtool", appauthor=False) / "datasets"


def given_folder(datasets_dir: Path | None) -> Path | None:
    """Return the folder of data sets that an argument or the environment names; None if neither."""
    variable = os.environ.get(DATASETS_VARIABLE)
    if datasets_dir is not None:
        folder, origin = datasets_dir, "--datasets"
    elif variable:
        folder, origin = expanded(variable), DATASETS_VARIABLE
    else:
        return None
    if not folder.is_dir():
        wrong = "is a file" if folder.exists() else "does not exist"
        raise UsageError(
            f"the folder of data sets {folder} {wrong}; give an existing one by {origin}"
        )
    return folder


def candidate_folders(request: Request, inside: Sequence[str] = ()) -> list[Path]:
    """Return the folders that may hold a data set, in the order to look.

    Of a replacement it is that folder alone. Otherwise it is the folder of data sets that the user
    names (in it `<source>`, then the folder itself), then the cache's `<source>`; in each of them
    the folders `inside`, which the official archives unpack to.
    """
    source, replacement = request.source, request.folder
    if replacement is None:
        given = given_folder(request.datasets_dir)
        bases = [given / source, given] if given is not None else []
        bases.append(default_cache() / source)
    elif replacement.is_dir():
        bases = [replacement]
    else:
        raise UsageError(
            f"the folder {replacement} to take {source} from does not exist; give an existing one"
        )
    return [folder for base in bases for folder in (base, *(base / name for name in inside))]


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name a file that the block cannot read."""
    try:
        yield
    except OSError as error:
        raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    with reading(path), open_file(path) as file:
        return file.read()


def keep(path: Path, content: bytes) -> None:
    """Write a file of the cache, which appears whole or not at all."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise DbtoolError(
            f"{path} cannot be written to ({error.strerror}); make room or correct its permissions"
        ) from error


def text_cache(kind: str, *parts: object) -> Path:
    """Return the folder of the cache for one thing that is worked out from texts once.

    Its kind is `indexes` or `vocabularies`; its parts are what it follows from, as JSON can hold
    it.
    """
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
    return default_cache() / "text" / kind / key


def digest_of(hashes: Iterable[tuple[str, str]]) -> str:
    """Return one sha256, in hexadecimal, of the names and hashes of some files."""
    lines = "".join(f"{name} {digest}\n" for name, digest in hashes)
    return hashlib.sha256(lines.encode()).hexdigest()


def not_found(source: str, looked: Sequence[Path], what: str, how_to_get: str) -> DbtoolError:
    """Make the error for a data set that is in none of the folders it was looked for in.

    It names the files that a folder should hold, and ends with where they can be had.
    """
    return DbtoolError(
        f"the data set {source} ({what}) is not in {', '.join(map(str, looked))}; get it from"
        f" {how_to_get}"
    )
