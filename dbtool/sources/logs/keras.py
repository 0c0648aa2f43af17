"""What Keras' `CSVLogger` writes: a row at the end of each epoch, which count from 0."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from dbtool.core.files import open_file
from dbtool.sources.logs.log import LoggedRun, lines, long_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEADER = re.compile(rb"epoch[,;\t](?!.*\bstep\b)")


def is_log(path: Path) -> bool:
    """Return whether a file is a CSV whose first column is the epoch, without one of steps."""
    if path.suffix not in {".csv", ".log", ".tsv"}:
        return False
    with open_file(path) as file:
        return bool(_HEADER.match(file.readline()))


def read(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a file. A file that was appended to may have its header again."""
    found = lines(path)
    table = csv.DictReader(found, delimiter=found[0][5] if found else ",")
    rows = (
        (table.line_num, row["epoch"], name, value)
        for row in table
        if row["epoch"] != "epoch"
        for name, value in row.items()
        # Keras writes NA for a metric that an epoch lacks.
        if name not in {"epoch", None} and value not in {"", "NA", None}
    )
    yield LoggedRun(path.with_suffix(""), long_rows(rows), epochs=True)
