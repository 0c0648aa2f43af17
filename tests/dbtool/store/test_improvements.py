"""Which measurements are stored as improvements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.made_up import write_shard

from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.improvements import improvements
from dbtool.store.ingest import ingest

if TYPE_CHECKING:
    from pathlib import Path

INFINITY, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("values", "better"),
    [
        ([], []),
        ([0.5], [0]),
        ([None, NAN], []),
        ([0.5, 0.5, 0.4, 0.45, 0.4, 0.3], [0, 2, 5]),
        ([INFINITY, NAN, 0.5, None, 0.4], [2, 4]),
        # Past every goal, and yet no value that others are held against.
        ([0.5, -INFINITY, 0.6, 0.4, -INFINITY], [0, 1, 3, 4]),
        ([0.0, -0.0], [0]),
    ],
)
@pytest.mark.parametrize("metric", ["val_cross_entropy_error", "test_average_precision"])
def test_strictly_better_than_all_before(
    metric: str, values: list[float | None], better: list[int]
) -> None:
    sign = -1 if metric == "test_average_precision" else 1
    signed = [None if value is None else sign * value for value in values]
    columns = {
        "trial_id": pa.array([3] * len(values), pa.int32()),
        "step": pa.array(range(10, 10 + len(values)), pa.int64()),
        metric: pa.array(signed, pa.float64()),
    }
    found = improvements(pa.table(columns), metric, {3})
    assert found["step"].to_pylist() == [10 + place for place in better]
    assert found["value"].to_pylist() == [signed[place] for place in better]
    assert improvements(pa.table(columns), metric, {4}).num_rows == 0
    assert improvements(pa.table(columns), "val_classification_error", {3}).num_rows == 0


def rows(metric: str, *values: float | None) -> list[dict[str, Any]]:
    return [{"step": step, metric: value} for step, value in enumerate(values)]


@pytest.mark.parametrize("metric", ["val_classification_error", "batch_cross_entropy_error"])
def test_shards_that_interleave_their_trials(tmp_path: Path, metric: str) -> None:
    better, worse = rows(metric, 0.5, None, 0.25), rows(metric, 0.25, 0.5)
    rate = {"learning_rate": 0.1}
    shards = [
        write_shard(tmp_path, metric=metric, train_steps=1, trials=trials)
        for trials in (
            [(0, "COMPLETE", rate, better), (3, "COMPLETE", rate, worse)],
            [(1, "INFEASIBLE", rate, better), (2, "COMPLETE", rate, better)],
        )
    ]
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, shards).refused == ()
    with open_for_reading(tmp_path / "db") as connection:
        assert connection.execute(
            "SELECT trial_id, step, value FROM stored.improvement"
        ).fetchall() == [(0, 0, 0.5), (0, 2, 0.25), (2, 0, 0.5), (2, 2, 0.25), (3, 0, 0.25)]
        assert connection.execute(
            "SELECT steps, trial_id, value FROM steps_to_result(NULL, NULL, NULL, 0.5, 100)"
        ).fetchall() == [(0, 3, 0.25)]
