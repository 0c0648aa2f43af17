"""Prints the settings of a workload that can be trained."""

from __future__ import annotations

import json

import duckdb

from dbtool.cli.options import Format
from dbtool.cli.output import print_rows, require_printable
from dbtool.errors import unknown
from dbtool.resources import query
from producers.workloads.registry import WORKLOADS
from producers.workloads.settings import settings

_NESTED = (Format.JSON, Format.JSONL)


def print_settings(name: str, output_format: Format, limit: int | None) -> None:
    """Prints a row a setting: its value, and whether it is stated, recalled or chosen.

    Args:
        name: of the workload.
        output_format: how rows are printed; in json and jsonl values keep their types.
        limit: at most so many rows; None: all.

    Raises:
        UsageError: there is no such workload, or the format is a binary one and standard output a
            terminal.
    """
    require_printable(output_format)
    if name not in WORKLOADS:
        raise unknown("workload", name, WORKLOADS, "dbtool produce --list")
    rows = [
        {
            "setting": each.name,
            "value": each.value if output_format in _NESTED else each.text,
            "certainty": each.certainty,
        }
        for each in settings(WORKLOADS[name])
    ]
    name_of_query = "settings_nested" if output_format in _NESTED else "settings"
    with duckdb.connect() as connection:
        values = {"rows": json.dumps(rows)}
        print_rows(connection.execute(query(name_of_query), values), output_format, limit)
