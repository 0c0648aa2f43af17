"""Prints the catalog: the published workloads, and which releases of the database hold them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import duckdb

from dbtool.archive.table import catalog
from dbtool.cli.database import reading
from dbtool.cli.output import print_rows, require_printable
from dbtool.errors import DbtoolError
from dbtool.resources import query
from dbtool.store.names import check_release

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.archive.table import CatalogWorkload
    from dbtool.cli.options import Format


def print_catalog(
    db: Path | None, release: str | None, output_format: Format, limit: int | None
) -> None:
    """Prints a row a published workload.

    Args:
        db: the value of --db. Where neither it nor a release is given the catalog is printed
            whether or not there is a database that can be read.
        release: only the workloads that this release holds; None: all.
        output_format: how rows are printed.
        limit: at most so many rows; None: all.

    Raises:
        UsageError: the database or release named is not there, or the format is a binary one and
            standard output a terminal.
        DbtoolError: the database named cannot be read.
    """
    require_printable(output_format)
    holding = _holding(db, release)
    rows = [
        _row(workload, None if holding is None else holding.get(workload.workload, []))
        for workload in catalog()
    ]
    with duckdb.connect() as connection:
        values = {"rows": json.dumps(rows), "release": release}
        print_rows(connection.execute(query("catalog"), values), output_format, limit)


def _holding(db: Path | None, release: str | None) -> dict[str, list[str]] | None:
    """The releases that hold each workload, by the workload's name; None where it is not known."""
    try:
        with reading(db) as connection:
            check_release(connection, release)
            return dict(connection.execute(query("holding_releases")).fetchall())
    except DbtoolError as error:
        if db is not None or release is not None:
            raise
        sys.stderr.write(f"not known which releases hold the workloads: {error}\n")
        return None


def _row(workload: CatalogWorkload, releases: list[str] | None) -> dict[str, Any]:
    """The columns of queries/browse/catalog.sql."""
    certainty = dict(workload.certainty)
    return {
        "workload": workload.workload,
        "metric": workload.metric,
        "goal": workload.goal,
        "maximize": workload.maximize,
        "train_examples": workload.train_examples,
        "batch_sizes": workload.batch_sizes,
        "complete": workload.complete,
        "incomplete": workload.incomplete,
        "infeasible": workload.infeasible,
        "releases": releases,
        "trial_limit": workload.trial_limit,
        "goal_certainty": certainty["goal"],
        "train_examples_certainty": certainty.get("train_examples"),
        "notes": workload.notes,
    }
