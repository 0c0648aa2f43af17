"""The folders of this machine that data sets are looked for in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from dbtool.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

DATASETS_VARIABLE = "DBTOOL_DATASETS"
"""The environment variable that names the folder of data sets when no argument does."""


def default_cache() -> Path:
    """The folder that keeps fetched data sets, each in a folder of its own name."""
    return platformdirs.user_cache_path("dbtool", appauthor=False) / "datasets"


def given_folder(datasets_dir: Path | None) -> Path | None:
    """The folder of data sets that the user names, by argument or environment; None when neither.

    Raises:
        UsageError: the folder does not exist.
    """
    variable = os.environ.get(DATASETS_VARIABLE)
    if datasets_dir is not None:
        folder, origin = datasets_dir, "--datasets"
    elif variable:
        folder, origin = Path(variable).expanduser(), DATASETS_VARIABLE
    else:
        return None
    if not folder.is_dir():
        raise UsageError(
            f"the folder of data sets {folder} does not exist; give an existing one by {origin}"
        )
    return folder


def candidate_folders(
    source: str, replacement: Path | None, datasets_dir: Path | None, inside: Sequence[str] = ()
) -> list[Path]:
    """The folders that may hold a data set, in the order to look.

    Of a replacement it is that folder alone. Otherwise it is the folder of data sets that the user
    names (in it `<source>`, then the folder itself), then the cache's `<source>`.

    Args:
        source: the data set's name.
        replacement: a folder to read instead of the known data set.
        datasets_dir: a folder that holds data sets; DBTOOL_DATASETS by default.
        inside: names of folders that the official archives unpack to, looked for in each.

    Raises:
        UsageError: a folder that the user names does not exist.
    """
    if replacement is not None:
        if not replacement.is_dir():
            raise UsageError(
                f"the folder {replacement} to take {source} from does not exist; give an existing"
                " one"
            )
        bases = [replacement]
    else:
        given = given_folder(datasets_dir)
        bases = [given / source, given] if given is not None else []
        bases.append(default_cache() / source)
    return [folder for base in bases for folder in (base, *(base / name for name in inside))]


def not_found(source: str, looked: Sequence[Path], what: str, how_to_get: str) -> DbtoolError:
    """The error for a data set that is in none of the folders it was looked for in.

    Args:
        source: the data set's name.
        looked: the folders.
        what: the files that a folder should hold.
        how_to_get: where they can be had, as the end of a sentence.
    """
    return DbtoolError(
        f"the data set {source} ({what}) is not in {', '.join(map(str, looked))}; get it from"
        f" {how_to_get}"
    )
