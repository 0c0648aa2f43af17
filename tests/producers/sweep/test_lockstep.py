"""Searches in lockstep: the same steps to result as a fixed search, windows, and going on."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.stripes import TRAIN_EXAMPLES, write_stripes
from support.sweeps import (
    BATCH_SIZE,
    DATA,
    TRAINED,
    WORKLOAD,
    StoppedError,
    assert_same_rows,
    metadata,
    produce,
    shards,
    statuses,
    sweep_all,
)

from dbtool.errors import DbtoolError
from producers.datasets.forms import GREY_28
from producers.lockstep.rule import LockstepRule
from producers.plan import StudyPlan, plan_studies
from producers.search import Range
from producers.sweep import SweepOptions
from producers.sweep.tasks import ROUNDS_FOLDER
from producers.workloads.definition import EvaluationRule
from producers.workloads.registry import WORKLOADS
from producers.workloads.replace import replaced

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

METRIC = "val_classification_error"
RULE = LockstepRule(window=False)


def studies(
    rule: LockstepRule | None,
    *,
    batch_sizes: Sequence[int] = (BATCH_SIZE,),
    goal: float = 0.01,
    steps: int = 60,
    trials: int = 4,
    rates: tuple[float, float] = (1e-3, 1.0),
    seed: int = 0,
) -> list[StudyPlan]:
    """Studies of a narrow network whose trials are evaluated every five steps."""
    workload = replace(
        replaced(WORKLOADS[WORKLOAD], DATA, GREY_28, TRAIN_EXAMPLES, goal=goal),
        metric=METRIC,
        evaluation=EvaluationRule(other_splits_every=3, every=5, training_subset=50),
        search_space=(("learning_rate", Range(*rates, "LOG_SCALE")),),
    )
    return plan_studies(
        [workload],
        release="tests",
        batch_sizes=batch_sizes,
        steps=steps,
        budget_scale=1.0,
        root_seed=seed,
        shared_batches=False,
        trials=trials,
        search=rule,
    )


def train(
    planned: list[StudyPlan], out: Path, data: Path, stop_after: int | None = None
) -> list[tuple[int, ...]]:
    """Trains studies; returns the trials of each block or round that was trained."""
    return sweep_all(planned, out, data, SweepOptions(block=100, datasets=None), stop_after)


def table(path: Path) -> dict[str, np.ndarray]:
    return {
        name: column.to_numpy()
        for name, column in zip(
            ("trial_id", "step", METRIC, "batch_cross_entropy_error"),
            pq.read_table(
                path, columns=["trial_id", "step", METRIC, "batch_cross_entropy_error"]
            ).columns,
            strict=True,
        )
    }


def search_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = metadata(path, "dbtool_study")["search"]
    return found


@pytest.fixture(scope="module")
def stripes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images to train on."""
    return write_stripes(tmp_path_factory.mktemp("stripes"))


@pytest.fixture(scope="module")
def fixed(stripes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """The rows of a study whose trials train to their end."""
    out: Path = tmp_path_factory.mktemp("fixed")
    train(studies(None), out, stripes)
    return table(shards(out)[0])


@pytest.fixture(scope="module")
def goal(fixed: dict[str, np.ndarray]) -> float:
    """A goal that the best of these trials gets past after half of the steps."""
    best: float = np.nanmin(fixed[METRIC][fixed["step"] <= 30])
    return best + 1e-6


def test_lockstep_finds_the_steps_to_result_of_a_fixed_search(
    stripes: Path, tmp_path: Path, fixed: dict[str, np.ndarray], goal: float
) -> None:
    train(studies(RULE, goal=goal), tmp_path, stripes)
    (path,) = shards(tmp_path)
    first = np.lexsort((fixed["trial_id"], fixed["step"], ~(fixed[METRIC] < goal)))[0]
    search, study = search_of(path), metadata(path, "dbtool_study")
    assert search["reached"]
    assert study["train_steps"] == fixed["step"][first] <= 30
    assert search["best_trial"] == fixed["trial_id"][first]
    assert study["early_stopping"]
    # Row for row what the fixed search has up to there.
    kept = fixed["step"] <= study["train_steps"]
    for name, values in table(path).items():
        np.testing.assert_array_equal(values, fixed[name][kept], err_msg=name)


def test_more_trials_may_have_to_reach_the_goal(
    stripes: Path, tmp_path: Path, fixed: dict[str, np.ndarray], goal: float
) -> None:
    train(studies(replace(RULE, reaching=2), goal=goal), tmp_path, stripes)
    (path,) = shards(tmp_path)
    firsts = {
        trial: fixed["step"][(fixed["trial_id"] == trial) & (fixed[METRIC] < goal)].min(initial=60)
        for trial in range(4)
    }
    first, second, *_ = sorted(firsts.values())
    assert metadata(path, "dbtool_study")["train_steps"] == second
    (round_,) = search_of(path)["rounds"]
    assert (round_["reached_at"], round_["stopped_at"]) == (first, second)
    assert firsts[search_of(path)["best_trial"]] == first


def test_where_no_trial_reaches_the_goal_all_train_to_the_end(
    stripes: Path, tmp_path: Path
) -> None:
    train(studies(RULE, steps=10), tmp_path, stripes)
    (path,) = shards(tmp_path)
    search = search_of(path)
    assert not search["reached"]
    assert metadata(path, "dbtool_study")["train_steps"] == 10
    assert set(statuses(tmp_path).values()) == {"COMPLETE"}
    rows = table(path)
    last = rows["step"] == 10
    best = rows[METRIC] == np.nanmin(rows[METRIC])
    assert last.sum() == 4
    assert search["best_trial"] in rows["trial_id"][best]


def test_dropped_trials_are_incomplete_and_end_early(
    stripes: Path, tmp_path: Path, goal: float
) -> None:
    rule = LockstepRule(window=False, dropping=2.0)
    train(studies(rule, goal=goal, rates=(1e-4, 1.0), trials=6), tmp_path, stripes)
    (path,) = shards(tmp_path)
    trials = metadata(path, "dbtool_trials")
    train_steps = metadata(path, "dbtool_study")["train_steps"]
    dropped = [trial for trial in trials if trial["status"] == "INCOMPLETE"]
    assert dropped
    for trial in trials:
        assert (trial["steps"] < train_steps) is (trial["status"] == "INCOMPLETE")
    # Those with the smallest rates learn least.
    slowest = min(trials, key=lambda trial: trial["metaparameters"]["learning_rate"])
    assert slowest in dropped


WINDOWS = LockstepRule(wide_trials=4, wide_at=BATCH_SIZE)


@pytest.fixture(scope="module")
def windows(stripes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies, the second in a window around the optimum of the first."""
    out: Path = tmp_path_factory.mktemp("windows")
    planned = studies(WINDOWS, batch_sizes=(BATCH_SIZE, 4 * BATCH_SIZE), trials=3)
    train(planned, out, stripes)
    return out


def test_the_next_study_is_searched_around_the_optimum(windows: Path) -> None:
    wide, narrow = (
        shards(windows / TRAINED / str(size))[0] for size in (BATCH_SIZE, 4 * BATCH_SIZE)
    )
    best = search_of(wide)["best_trial"]
    rate = metadata(wide, "dbtool_trials")[best]["metaparameters"]["learning_rate"]
    search = search_of(narrow)
    assert search["origin"] == {
        "batch_size": BATCH_SIZE,
        "trial_id": best,
        "metaparameters": {"learning_rate": rate},
    }
    # Four times the batch size: twice the learning rate, three quarters of a decade around it.
    window = search["rounds"][0]["space"]["learning_rate"]
    assert window["min_value"] == pytest.approx(max(1e-3, 2 * rate * 10**-0.75))
    assert window["max_value"] == pytest.approx(min(1.0, 2 * rate * 10**0.75))
    for trial in metadata(narrow, "dbtool_trials")[:3]:
        found = trial["metaparameters"]["learning_rate"]
        assert window["min_value"] <= found <= window["max_value"]
    assert (len(metadata(wide, "dbtool_trials")), search["first_trials"]) == (4, 3)


def test_nothing_is_left_of_finished_rounds(windows: Path) -> None:
    assert not [path for path in windows.rglob(".*") if path.name != ".lock"]


def test_a_finished_search_is_not_trained_again(stripes: Path, windows: Path) -> None:
    planned = studies(WINDOWS, batch_sizes=(BATCH_SIZE, 4 * BATCH_SIZE), trials=3)
    assert train(planned, windows, stripes) == []


# The one wide trial has a rate of about 0.001, far below what is best; every window's best trial
# then lies at its upper edge, until the windows reach the best rates.
WIDENED = {"steps": 80, "trials": 16, "rates": (1e-3, 5e-1)}


def test_an_optimum_at_the_edge_widens_the_window(stripes: Path, tmp_path: Path) -> None:
    rule = LockstepRule(wide_trials=1, wide_at=BATCH_SIZE)
    planned = studies(rule, batch_sizes=(BATCH_SIZE, 2 * BATCH_SIZE), seed=_low_seed(), **WIDENED)  # type: ignore[arg-type]
    trained = train(planned, tmp_path / "whole", stripes)
    (path,) = shards(tmp_path / "whole" / TRAINED / str(2 * BATCH_SIZE))
    search = search_of(path)
    rounds = search["rounds"]
    assert len(rounds) > 1
    assert trained[1:] == [
        tuple(range(each["first_trial"], each["first_trial"] + each["trials"])) for each in rounds
    ]
    # Each round goes on where the one before ended, with half as many trials.
    for before, after in itertools.pairwise(rounds):
        edges = before["space"]["learning_rate"], after["space"]["learning_rate"]
        assert edges[1]["min_value"] == pytest.approx(edges[0]["max_value"])
        assert after["trials"] == 8
    space = metadata(path, "dbtool_study")["search_space"]["learning_rate"]
    assert space["min_value"] == rounds[0]["space"]["learning_rate"]["min_value"]
    assert space["max_value"] == rounds[-1]["space"]["learning_rate"]["max_value"]
    # The best of all rounds, and not of the last alone.
    rows = table(path)
    assert search["best_trial"] in rows["trial_id"][rows[METRIC] == np.nanmin(rows[METRIC])]
    # Stopped before any round, it goes on with the next and comes to the same rows.
    out = tmp_path / "stopped"
    for _ in trained[:-1]:
        with pytest.raises(StoppedError):
            train(planned, out, stripes, stop_after=1)
    train(planned, out, stripes)
    assert_same_rows(tmp_path / "whole", out)


def _low_seed() -> int:
    """A seed of the sweep whose first wide trial has a low learning rate."""
    for seed in range(200):
        rule = LockstepRule(wide_trials=1, wide_at=BATCH_SIZE)
        (study,) = studies(rule, seed=seed, **WIDENED)  # type: ignore[arg-type]
        (point,) = study.trials([0]).metaparameters
        if point["learning_rate"] < 2e-3:
            return seed
    raise AssertionError("no such seed")


def test_another_rule_in_the_same_folder_is_refused(stripes: Path, windows: Path) -> None:
    other = replace(WINDOWS, dropping=4.0)
    planned = studies(other, batch_sizes=(BATCH_SIZE, 4 * BATCH_SIZE), trials=3)
    with pytest.raises(DbtoolError, match="another search"):
        train(planned, windows, stripes)


def _killed_before_its_end(out: Path) -> Path:
    """Leaves of a finished search what it had before it wrote the study's shard."""
    (path,) = shards(out)
    left = path.parent / ROUNDS_FOLDER / "0" / path.name
    left.parent.mkdir(parents=True)
    return path.rename(left)


def test_a_round_of_another_rule_is_not_taken_for_this_search(
    stripes: Path, tmp_path: Path, goal: float
) -> None:
    train(studies(RULE, goal=goal), tmp_path, stripes)
    left = _killed_before_its_end(tmp_path)
    with pytest.raises(DbtoolError, match="another search"):
        train(studies(replace(RULE, reaching=2), goal=goal), tmp_path, stripes)
    assert left.exists()
    # The same search goes on with it.
    assert train(studies(RULE, goal=goal), tmp_path, stripes) == []
    assert len(shards(tmp_path)) == 1


def test_rounds_that_a_kill_left_behind_are_removed(
    stripes: Path, tmp_path: Path, goal: float
) -> None:
    train(studies(RULE, goal=goal), tmp_path, stripes)
    (path,) = shards(tmp_path)
    content = path.read_bytes()
    left = _killed_before_its_end(tmp_path)
    path.write_bytes(content)
    assert train(studies(RULE, goal=goal), tmp_path, stripes) == []
    assert shards(tmp_path) == [path]
    assert not left.parent.parent.exists()


def test_a_window_needs_its_neighbour(stripes: Path, tmp_path: Path) -> None:
    planned = studies(WINDOWS, batch_sizes=(BATCH_SIZE, 4 * BATCH_SIZE))
    with pytest.raises(DbtoolError, match="around the optimum at batch size 8"):
        train(planned[1:], tmp_path, stripes)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--search", "window", "--slice", "1/2"), "leave out --slice"),
        (("--search", "window", "--on", "ray"), "leave out --on ray"),
        (("--search", "lockstep", "--feasible", "3"), "leave out feasible"),
        (("--dropping", "4"), "search with lockstep"),
        (("--search", "lockstep", "--dropping", "1"), "above 1"),
        (("--search", "lockstep", "--wide-at", "8"), "search with window"),
    ],
)
def test_words_that_clash(words: tuple[str, ...], sentence: str) -> None:
    result = produce(WORKLOAD, "--batch-sizes", "8", *words)
    assert result.returncode == 2, result.stderr
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
