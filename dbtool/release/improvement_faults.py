"""Whether the improvements that a database holds are those of its measurements."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from dbtool.resources import queries_folder
from dbtool.store.improvements import SCHEMA, improvements

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def improvement_faults(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Finds the improvements anew, study by study, and compares them with those that are stored.

    Args:
        connection: a database that is open.

    Returns:
        What is wrong, a sentence each.
    """
    query = (queries_folder() / "verify" / "improvements.sql").read_text(encoding="utf-8")
    measured = connection.execute("SELECT * FROM stored.measurement LIMIT 0").description
    columns = {name for name, *_ in measured or ()}
    faults = []
    for study_id, metric, feasible in connection.execute(query).fetchall():
        metrics = [metric] if metric in columns else []
        rows = _of_study(connection, "measurement", study_id, ["trial_id", "step", *metrics])
        found = improvements(_sorted(rows), metric, feasible or [])
        held = _of_study(connection, "improvement", study_id, SCHEMA.names)
        if held.equals(found):
            continue
        wrong = _count(found)
        wrong.subtract(_count(held))
        trials = sorted({trial_id for (trial_id, *_), count in wrong.items() if count})
        faults += [
            f"the improvements of trial {trial_id} of study {study_id} are not those of its rows"
            for trial_id in trials
        ]
    return faults


def _of_study(
    connection: duckdb.DuckDBPyConnection, table: str, study_id: int, columns: list[str]
) -> pa.Table:
    """The rows of a study as they are stored."""
    # A table or, of a published release, a view; its columns' names are the schema's.
    query = f"SELECT {', '.join(columns)} FROM stored.{table} WHERE study_id = ?"  # noqa: S608
    return connection.execute(query, [study_id]).to_arrow_table()


def _sorted(rows: pa.Table) -> pa.Table:
    """Rows by trial and step; where they repeat a step, as they were."""
    order = np.lexsort([rows[name].to_numpy() for name in ("step", "trial_id")])
    return rows if (np.diff(order) == 1).all() else rows.take(order)


def _count(rows: pa.Table) -> Counter[tuple[int, int, float]]:
    """How often each row is there."""
    columns = [rows[name].to_pylist() for name in SCHEMA.names]
    return Counter(zip(*columns, strict=True))
