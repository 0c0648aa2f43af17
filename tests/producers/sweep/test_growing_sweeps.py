"""Sweeps with a batch schedule: what shards hold, and what is asked of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import dbtool
from dbtool.core.errors import UsageError
from producers.branches import branched_studies
from producers.configuration import SweepOptions
from producers.sweep.run import SweepEvents, run_sweep
from producers.training.checkpoints import Interrupted
from producers.workloads.batch_schedule import scheduled
from tests.support.sweeps import assert_same_rows, small_study, sweep

if TYPE_CHECKING:
    from pathlib import Path

    from producers.plan import StudyPlan


def grown_study() -> StudyPlan:
    """Of 30 steps with 8, 16 and 32 examples."""
    study = small_study()
    return replace(study, workload=scheduled(study.workload, "2@12,4@20"))


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory, made_up_mnist: Path) -> Path:
    """Two trials with a constant batch size, and the same ones with batches that grow."""
    folder = tmp_path_factory.mktemp("releases")
    for name, study in (("constant", small_study()), ("grown", grown_study())):
        sweep(replace(study, release=name), folder / name, made_up_mnist, trials=2)
    return folder


def test_examples_are_those_counted_by_hand(releases: Path) -> None:
    with dbtool.open(releases) as db:
        rows = db.sql(
            "SELECT release, step, examples_after(step, batch_size, definition) AS examples "
            "FROM measurements JOIN workloads USING (release, workload) WHERE trial_id = 0"
        ).rows()
        ((goal,),) = db.sql(
            "SELECT min(train_cross_entropy_error) + 1e-9 FROM measurements WHERE release = 'grown'"
        )
        asked = {"goal": goal, "metric": "train_cross_entropy_error", "release": "grown"}
        (steps,) = db.steps("*", **asked).to_dicts()
        (reached,) = db.steps("*", by="examples", **asked).to_dicts()
    sizes = {"constant": [8] * 30, "grown": [8] * 12 + [16] * 8 + [32] * 10}
    for release, step, examples in rows:
        assert examples == sum(sizes[release][:step])
    # Otherwise a constant batch size would give the same.
    assert steps["steps"] > 20
    assert reached["examples"] == sum(sizes["grown"][: steps["steps"]])
    assert ("examples" in steps, "steps" in reached) == (False, False)


def test_trials_are_the_same_until_batches_grow(releases: Path) -> None:
    with dbtool.open(releases) as db:
        rows = db.sql(
            "SELECT step, count(DISTINCT batch_cross_entropy_error) AS values FROM measurements "
            "WHERE trial_id = 0 AND step > 0 GROUP BY step ORDER BY step"
        ).rows()
        (rates,) = db.sql("SELECT count(DISTINCT (trial_id, seed, learning_rate)) FROM trials")
    # The batch of step 13 is the first larger one.
    assert rows == [(step, 1 + (step > 12)) for step in range(1, 31)]
    assert rates == (2,)


# While batches have the first size and the second, and where the third begins.
@pytest.mark.parametrize(("calls", "step"), [(2, 6), (5, 14), (7, 20)])
def test_an_interrupted_sweep_goes_on_bit_for_bit(
    calls: int, step: int, releases: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    study = replace(grown_study(), least_trials=2, replacement=made_up_mnist, release="grown")
    done: list[int] = []
    events = SweepEvents(
        on_block=lambda *_: None,
        on_steps=done.append,
        on_shard=lambda _: None,
        stopping=lambda: len(done) == calls,
    )
    with pytest.raises(Interrupted) as stopped:
        run_sweep([study], tmp_path, SweepOptions(block=2), events)
    assert stopped.value.step == step
    assert sweep(study, tmp_path, made_up_mnist, trials=2) == [(0, 1)]
    assert_same_rows(tmp_path, releases / "grown")


def test_a_scheduled_study_has_no_branches(tmp_path: Path) -> None:
    options = SweepOptions(branch_at=(3,))
    with pytest.raises(UsageError, match="has a batch schedule, so that a branch has no batch siz"):
        branched_studies([grown_study()], tmp_path, options)
