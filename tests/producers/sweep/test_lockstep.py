"""Searches in lockstep: the same steps to result as a fixed search, windows, and going on."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import GREY_28
from producers.plan import StudyPlan
from producers.search import Range
from producers.sweep.run import ROUNDS_FOLDER
from producers.workloads.definition import EvaluationRule
from producers.workloads.registry import WORKLOADS
from producers.workloads.replace import replaced
from tests.support.image_files import idx_bytes
from tests.support.sweeps import (
    BATCH_SIZE,
    DATA,
    WORKLOAD,
    StoppedError,
    assert_same_rows,
    footer,
    planned,
    shards,
    sweep_all,
    unlisted,
)

METRIC = "val_classification_error"
TRAIN_EXAMPLES = 880
"""What is left of the 960 images when one in twelve is held out."""
Search = dict[str, Any]
FIXED: Search = {}
LOCKSTEP: Search = {"search": "lockstep"}


def studies(
    search: Search,
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
    settings: dict[str, Any] = {"batch_sizes": batch_sizes, "steps": steps, "trials": trials}
    return planned(workload, seed=seed, **settings, **search)


def table(path: Path) -> dict[str, np.ndarray]:
    names = ["trial_id", "step", METRIC, "batch_cross_entropy_error"]
    rows = pq.read_table(path, columns=names)
    return {name: rows[name].to_numpy() for name in names}


def search_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = footer(path, "study")["search"]
    return found


def shard_of(out: Path, batch_size: int) -> Path:
    """The shard of the study at a batch size."""
    (path,) = [path for path in shards(out) if path.parent.name == f"batch_size={batch_size}"]
    return path


@pytest.fixture(scope="module")
def stripes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images that a network learns in a few steps: a bright stripe tells the class."""
    folder: Path = tmp_path_factory.mktemp("stripes")
    random = np.random.default_rng(7)
    for split, count in (("train", 960), ("t10k", 80)):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = random.integers(0, 128, (count, 28, 28), dtype=np.uint8)
        images[np.arange(count), :, 2 * labels + 4] += 100
        (folder / f"{split}-images-idx3-ubyte").write_bytes(idx_bytes(images))
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))
    return folder


@pytest.fixture(scope="module")
def fixed(stripes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """The rows of a study whose trials train to their end."""
    out: Path = tmp_path_factory.mktemp("fixed")
    sweep_all(studies(FIXED), out, stripes)
    return table(shards(out)[0])


@pytest.fixture(scope="module")
def goal(fixed: dict[str, np.ndarray]) -> float:
    """A goal that the best of these trials gets past after half of the steps."""
    best: float = np.nanmin(fixed[METRIC][fixed["step"] <= 30])
    return float(best) + 1e-6


def test_lockstep_finds_the_steps_to_result_of_a_fixed_search(stripes, tmp_path, fixed, goal):
    sweep_all(studies(LOCKSTEP, goal=goal), tmp_path, stripes)
    (path,) = shards(tmp_path)
    first = np.lexsort((fixed["trial_id"], fixed["step"], ~(fixed[METRIC] < goal)))[0]
    search, study = search_of(path), footer(path, "study")
    assert search["reached"]
    assert study["train_steps"] == fixed["step"][first] <= 30
    assert search["best_trial"] == fixed["trial_id"][first]
    assert study["early_stopping"]
    # Row for row what the fixed search has up to there.
    kept = fixed["step"] <= study["train_steps"]
    for name, values in table(path).items():
        np.testing.assert_array_equal(values, fixed[name][kept], err_msg=name)


def test_more_trials_may_have_to_reach_the_goal_and_those_behind_are_dropped(
    stripes, tmp_path, goal
):
    search = LOCKSTEP | {"reaching": 2, "dropping": 4.0}
    sweep_all(studies(search, goal=goal, trials=6), tmp_path, stripes)
    (path,) = shards(tmp_path)
    rows, trials = table(path), footer(path, "trials")
    past = rows[METRIC] < goal
    first, second, *_ = sorted(
        int(rows["step"][past & (rows["trial_id"] == trial)].min())
        for trial in np.unique(rows["trial_id"][past])
    )
    (round_,) = search_of(path)["rounds"]
    assert (round_["reached_at"], round_["stopped_at"]) == (first, second)
    assert footer(path, "study")["train_steps"] == second
    for trial in trials:
        assert (trial["steps"] < second) is (trial["status"] == "INCOMPLETE")
    # Those with the smallest rates learn least.
    slowest = min(trials, key=lambda trial: trial["metaparameters"]["learning_rate"])
    assert slowest["status"] == "INCOMPLETE"


WINDOWS: Search = {"search": "window", "wide_trials": 4, "wide_at": BATCH_SIZE}


def two_studies(search: Search) -> list[StudyPlan]:
    return studies(search, batch_sizes=(BATCH_SIZE, 4 * BATCH_SIZE), trials=3)


@pytest.fixture(scope="module")
def windows(stripes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies, the second in a window around the optimum of the first."""
    out: Path = tmp_path_factory.mktemp("windows")
    sweep_all(two_studies(WINDOWS), out, stripes)
    return out


def test_the_next_study_is_searched_around_the_optimum(stripes, windows):
    wide, narrow = (shard_of(windows, size) for size in (BATCH_SIZE, 4 * BATCH_SIZE))
    best = search_of(wide)["best_trial"]
    rate = footer(wide, "trials")[best]["metaparameters"]["learning_rate"]
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
    for trial in footer(narrow, "trials")[:3]:
        found = trial["metaparameters"]["learning_rate"]
        assert window["min_value"] <= found <= window["max_value"]
    assert (len(footer(wide, "trials")), search["first_trials"]) == (4, 3)
    # A finished search is not trained again.
    assert unlisted(windows) == []
    assert sweep_all(two_studies(WINDOWS), windows, stripes) == []


def test_a_finished_search_is_not_trained_again_nor_by_another_rule(stripes, windows):
    assert unlisted(windows) == []
    assert not (windows / ".work").exists()
    assert sweep_all(two_studies(WINDOWS), windows, stripes) == []
    with pytest.raises(DbtoolError, match="another search"):
        sweep_all(two_studies(WINDOWS | {"dropping": 4.0}), windows, stripes)


# With this seed the one wide trial has a rate of about 0.001, far below what is best. The best
# trial of every window then lies at its upper edge, until the windows reach the best rates.
WIDENED: dict[str, Any] = {"steps": 80, "trials": 16, "rates": (1e-3, 5e-1), "seed": 11}
ONE_WIDE = WINDOWS | {"wide_trials": 1}


@pytest.mark.slow
def test_an_optimum_at_the_edge_widens_the_window(stripes, tmp_path):
    both = studies(ONE_WIDE, batch_sizes=(BATCH_SIZE, 2 * BATCH_SIZE), **WIDENED)
    trained = sweep_all(both, tmp_path / "whole", stripes)
    path = shard_of(tmp_path / "whole", 2 * BATCH_SIZE)
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
    space = footer(path, "study")["search_space"]["learning_rate"]
    assert space["min_value"] == rounds[0]["space"]["learning_rate"]["min_value"]
    assert space["max_value"] == rounds[-1]["space"]["learning_rate"]["max_value"]
    # The best of all rounds, and not of the last alone.
    rows = table(path)
    assert search["best_trial"] in rows["trial_id"][rows[METRIC] == np.nanmin(rows[METRIC])]
    # Stopped before any round, it goes on with the next and comes to the same rows.
    out = tmp_path / "stopped"
    for _ in trained[:-1]:
        with pytest.raises(StoppedError):
            sweep_all(both, out, stripes, stop_after=1)
    sweep_all(both, out, stripes)
    assert_same_rows(tmp_path / "whole", out)


def _killed_before_its_end(out: Path) -> Path:
    """Leaves of a finished search what it had before it wrote the study's shard."""
    (path,) = shards(out)
    (study,) = studies(LOCKSTEP)
    left = study.work_folder(out) / ROUNDS_FOLDER / "0" / path.relative_to(out)
    left.parent.mkdir(parents=True)
    return path.rename(left)


def test_a_round_that_a_kill_left_behind_is_of_this_search_alone_and_removed(
    stripes, tmp_path, goal
):
    sweep_all(studies(LOCKSTEP, goal=goal), tmp_path, stripes)
    left = _killed_before_its_end(tmp_path)
    with pytest.raises(DbtoolError, match="another search"):
        sweep_all(studies(LOCKSTEP | {"reaching": 2}, goal=goal), tmp_path, stripes)
    assert left.exists()
    # The same search goes on with it.
    assert sweep_all(studies(LOCKSTEP, goal=goal), tmp_path, stripes) == []
    (path,) = shards(tmp_path)
    # Killed after it wrote the shard, and before it removed the round.
    content = path.read_bytes()
    left = _killed_before_its_end(tmp_path)
    path.write_bytes(content)
    assert sweep_all(studies(LOCKSTEP, goal=goal), tmp_path, stripes) == []
    assert shards(tmp_path) == [path]
    assert not left.exists()


def test_a_window_needs_its_neighbour(stripes, tmp_path):
    with pytest.raises(DbtoolError, match="around the optimum at batch size 8"):
        sweep_all(two_studies(WINDOWS)[1:], tmp_path, stripes)
