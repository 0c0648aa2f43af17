"""Prints the published workloads, and the settings of those that can be trained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dbtool.cli.database import reading
from dbtool.cli.messages import tell
from dbtool.cli.options import Format
from dbtool.cli.output import print_table
from dbtool.core.catalog import catalog
from dbtool.core.errors import DbtoolError, unknown
from dbtool.store.questions import index_question

if TYPE_CHECKING:
    from dbtool.cli.table import View
    from dbtool.core.catalog import CatalogWorkload

_NESTED = (Format.JSON, Format.JSONL)


def print_catalog(
    db: str | None, release: str | None, output_format: Format, limit: int | None, view: View
) -> None:
    """Print a row for each published workload, with the releases that have it.

    Args:
        db: the value of --db. Without it and without a release, the catalog is printed whether or
            not a release can be read.
        release: only the workloads that this release has; None: all.
        output_format: how rows are printed.
        limit: at most this many rows; None: all.
        view: which columns are printed.

    Raises:
        UsageError: the requested database or release does not exist, or the format is binary and
            standard output is a terminal.
        DbtoolError: the requested database cannot be read.
    """
    holding: dict[str, list[str]] | None = None
    try:
        with reading(db, release) as database:
            holding = dict(database.result(index_question("holding_releases")).rows())
    except DbtoolError as error:
        if db is not None or release is not None:
            raise
        tell(f"not known which releases hold the workloads: {error}")
    rows = [
        _catalog_row(workload, None if holding is None else holding.get(workload.workload, []))
        for workload in sorted(catalog(), key=lambda each: each.workload)
    ]
    chosen = [row for row in rows if release is None or release in row["releases"]]
    print_table(pa.Table.from_pylist(chosen), output_format, limit, view=view)


def _catalog_row(workload: CatalogWorkload, releases: list[str] | None) -> dict[str, Any]:
    studies = workload.studies
    return {
        "workload": workload.workload,
        "metric": workload.metric,
        "goal": workload.goal,
        "maximize": workload.maximize,
        "train_examples": workload.train_examples,
        "batch_sizes": workload.batch_sizes,
        "complete": sum(study.complete for study in studies),
        "incomplete": sum(study.incomplete for study in studies),
        "infeasible": sum(study.infeasible for study in studies),
        "releases": releases,
        "trial_limit": workload.trial_limit,
        "goal_certainty": workload.goal_certainty,
        "train_examples_certainty": workload.train_examples_certainty,
        "notes": workload.notes,
    }


def print_settings(name: str, output_format: Format, limit: int | None, view: View) -> None:
    """Print a row for each setting of a workload that can be trained, and how sure its value is.

    Args:
        name: of the workload.
        output_format: how rows are printed; in json and jsonl values keep their types.
        limit: at most this many rows; None: all.
        view: which columns are printed.

    Raises:
        UsageError: the workload does not exist, or the format is binary and standard output is a
            terminal.
    """
    from producers.workloads.own import load_own
    from producers.workloads.registry import WORKLOADS
    from producers.workloads.settings import settings

    load_own()
    if name not in WORKLOADS:
        # Of another kind than those that a release may have.
        raise unknown("workload to show", name, WORKLOADS, "dbtool produce --list")
    is_nested = output_format in _NESTED
    rows = [
        {
            "setting": each.name,
            "value": json.dumps(each.value) if is_nested else each.text,
            "certainty": each.certainty,
        }
        for each in settings(WORKLOADS[name])
    ]
    columns = "* REPLACE (value::JSON AS value)" if is_nested else "*"
    print_table(pa.Table.from_pylist(rows), output_format, limit, columns, view)
