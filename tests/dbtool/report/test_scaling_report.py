"""Rows and words of a made-up release in which all answers are planted."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dbtool.analysis.answers import answers_of_table
from dbtool.analysis.scaling import Settings, scaling_of_searches
from dbtool.analysis.searches import Search
from dbtool.core.errors import UsageError
from dbtool.database import Database
from dbtool.report.scaling import ScalingReport
from dbtool.report.words import sentences
from tests.support.made_up import write_shard

SIZES = [2**octave for octave in range(13)]
CRITICAL = 64
NOISE_SCALE = 32.0
FEWEST = {"adam": 50, "sgd": 100}
TRIALS = 6
WINDOW = {"origin": {"batch_size": 1}}
NEARLY = "learning rates nearly as good as the best (up to 1.25 times the steps)"


def _row(step: int, error: float, **metrics: Any) -> dict[str, Any]:
    return {"step": step, "val_classification_error": error, **metrics}


def _trial(number: int, fewest: int, size: int) -> Any:
    """It passes the goal up to a tenth later than the best, with an evaluation shortly before."""
    steps = round(fewest * (1 + CRITICAL / size) * (1 + number / 50))
    moments = {"gradient_squared_norm": 2.0, "gradient_covariance_trace": 2 * NOISE_SCALE}
    rows = [_row(0, 0.9, other_metrics=moments), _row(steps - 2, 0.5), _row(steps, 0.05)]
    return number, "COMPLETE", {"learning_rate": 0.01 * size * (1 + number / 50)}, rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("planted")
    for optimizer, fewest in FEWEST.items():
        for size in SIZES:
            trials = [_trial(number, fewest, size) for number in range(TRIALS)]
            # The study at batch size 1 of Adam searched the whole space.
            search = WINDOW if optimizer == "adam" and size > 1 else None
            workload = f"mnist/fc_64_64_64/{optimizer}"
            write_shard(folder, workload=workload, batch_size=size, trials=trials, search=search)
    return folder


@pytest.fixture(scope="module")
def found(db: Database) -> ScalingReport:
    return db.scaling("*")


def test_critical_batch_sizes(found):
    rows = found.rows("critical")
    assert rows["verdict"].to_list() == ["identified"] * 6
    for row in rows.filter(definition="tradeoff").iter_rows(named=True):
        assert row["critical_batch_size"] == pytest.approx(CRITICAL, rel=0.05)
        assert row["low"] < CRITICAL < row["high"]
        # In proportion to the batch size, up to near-best trials that lie on both sides of it.
        assert row["learning_rate"] == pytest.approx(0.01 * CRITICAL, rel=0.15)
    assert rows["fewest_steps"][0] == pytest.approx(FEWEST["adam"], rel=0.05)


def test_steps_are_those_of_the_best_of_all(found):
    rows = found.rows("steps").filter(workload="mnist/fc_64_64_64/sgd", batch_size=64.0)
    assert rows.select("trials", "after", "steps").rows() == [(6, 198.0, 200.0)]
    # Six trials cannot bound the median of the best of six from below.
    assert rows["low"].item() is None
    assert rows["fitted"].item() == pytest.approx(200, rel=0.02)


def test_the_study_that_searched_wider_is_a_bound(found):
    adam, sgd = found.answers
    assert (adam.scaling.windowed, adam.scaling.wide) == (SIZES[1:], [1])
    assert (sgd.scaling.windowed, sgd.scaling.wide) == ([], [])
    first = found.rows("steps").filter(batch_size=1.0)
    assert first["after"].to_list() == [0.0, 100 * 65 - 2]
    said = " ".join(sentences(adam.scaling, found.settings))
    assert "At 12 batch sizes the search was in a window" in said
    assert "At 1 it was in the whole space" in said


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ((100, 200, 900), {"At 8, 16 the best learning rates"}),
        ((110, 100, 900), {f"At 8, 16 {NEARLY}"}),
        ((900, 100, 900), set()),
    ],
    ids=["the best", "one nearly as good", "none"],
)
def test_which_rates_lie_at_the_edge_of_the_search_is_told(steps, told):
    known, rates = np.array(steps, float), np.array([0.01, 0.1, 1.0])
    given = [Search(size, known - 1, known, rates, 0 * rates, {}) for size in (8, 16)]
    said = sentences(scaling_of_searches(given, Settings()), Settings())
    found = {each.partition(" lie in the outer tenth")[0] for each in said if "outer" in each}
    assert found == told
    inside = "are none" if told else "are 2"
    assert any(f"inside the searched range, and there {inside}." in each for each in said)


def test_noise_scale_beside_the_critical_batch_size(found):
    rows = found.rows("noise_scale").filter(workload="mnist/fc_64_64_64/sgd", batch_size=64)
    assert rows.select("phase", "noise_scale", "trials").rows() == [(1, NOISE_SCALE, 6)]
    assert rows["ratio"].item() == pytest.approx(NOISE_SCALE / CRITICAL, rel=0.05)
    own = found.rows("noise_scale").filter(pl.col("workload").str.ends_with("sgd"))
    [said] = [
        each
        for each in sentences(found.answers[1].scaling, found.settings, own)
        if "noise scale" in each
    ]
    assert "in the first third of the way to the goal, at batch size 64: 32 (95%: 32 to 32)" in said
    assert "times the critical batch size" in said


def test_optimizers_are_profiled(found):
    profiles = found.rows("profiles").filter(factor=1.0)
    assert profiles.select("optimizer", "share", "cells").rows() == [
        ("adam", 1.0, len(SIZES)),
        ("sgd", 0.0, len(SIZES)),
    ]


def test_rows_that_there_are_none_of(found):
    with pytest.raises(UsageError, match="unknown kind of rows 'critcal'; closest: critical"):
        found.rows("critcal")


def test_a_goal_that_was_missed_is_told_and_not_wanted_again():
    reached = {8: 1000.0, 16: 520.0, 32: 270.0, 64: 150.0, 128: 90.0, 256: 60.0}
    steps = pl.DataFrame(
        {"batch_size": [*reached, 512, 1024], "steps": [*reached.values(), None, None]}
    )
    for table in (steps, steps.with_columns(n=5, sd=10.0)):
        [answer] = answers_of_table(table, Settings())
        assert [each.batch_size for each in answer.scaling.steps] == [*reached]
        assert answer.scaling.unreached == [512, 1024]
        assert not {512, 1024} & {*answer.scaling.wanted}
        told = " ".join(sentences(answer.scaling, Settings()))
        assert "At 512, 1,024 the goal was not reached, which tells nothing without" in told
