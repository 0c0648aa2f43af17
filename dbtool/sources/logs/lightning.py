"""What PyTorch Lightning's `CSVLogger` writes: metrics.csv and hparams.yaml, a folder a run."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from dbtool.core.walk import is_file
from dbtool.sources.logs.log import LoggedRun, lines, long_rows
from dbtool.sources.tables import words
from dbtool.store.texts import read_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_HPARAMS = "hparams.yaml"


def is_log(path: Path) -> bool:
    """Return whether a file is a CSV of metrics with hyperparameters beside it."""
    return path.name == "metrics.csv" and has_hparams(path.parent)


def has_hparams(folder: Path) -> bool:
    """Return whether Lightning wrote its hyperparameters into a folder."""
    return is_file(folder / _HPARAMS)


def hparams(folder: Path) -> Mapping[str, str]:
    """Return the hyperparameters in a folder; empty where there are none."""
    path = folder / _HPARAMS
    # A run without hyperparameters has the object {}, or an empty file.
    there = has_hparams(folder) and path.read_bytes().strip(b"{} \n")
    return read_document(path) if there else {}


def updates(step: str, metric: str) -> int:
    """Return the updates before a value was measured.

    Rows of training and validation have the number of their batch, from 0, and are logged after its
    update. A test has the number of all updates.
    """
    return int(step) + ("test" not in words.split(metric))


def read(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a folder."""
    table = csv.DictReader(lines(path))
    rows = (
        (table.line_num, updates(row["step"], name), name, value)
        for row in table
        for name, value in row.items()
        if name not in {"step", "epoch", None} and value
    )
    yield LoggedRun(path.parent, long_rows(rows), hparams(path.parent))
