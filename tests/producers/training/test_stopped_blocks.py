"""Blocks whose trials advance together: the rows of those that train on, up to where they stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.blocks import TRIALS, Rows, assert_same, assert_same_columns, rows, train

from producers.training.checkpoints import Checkpoints
from producers.training.slots import Slots
from producers.training.stopping import FirstToGoal, Goal

if TYPE_CHECKING:
    from pathlib import Path

    from producers.training.progress import Progress
    from producers.training.records import BlockRecord

EVALUATIONS = {step: step % 12 == 0 for step in range(0, 25, 2)}
METRIC = "val_cross_entropy_error"
# Its trials learn at different speeds, and one diverges.
DIVERGING = {3: 1e30}


@pytest.fixture(scope="module")
def whole() -> Rows:
    """The rows of the trials when they train to their end."""
    return rows(train("normalised", evaluations=EVALUATIONS, diverging=DIVERGING))


def rule(whole: Rows, dropping: float | None = None) -> FirstToGoal:
    """Stops at the value that the best trial had after twelve steps."""
    value = float(np.nanmin(whole[METRIC][whole["step"] <= 12]))
    # A little more than that, since the last digits depend on the devices.
    goal = Goal(METRIC, value * 1.001)
    return FirstToGoal(goal, TRIALS, everyone=EVALUATIONS, dropping=dropping)


def stopped(whole: Rows, **options: object) -> BlockRecord:
    return train(
        "normalised",
        evaluations=EVALUATIONS,
        diverging=DIVERGING,
        rule=rule(whole),
        **options,  # type: ignore[arg-type]
    )


def up_to(whole: Rows, step: int) -> Rows:
    kept = whole["step"] <= step
    return {name: values[kept] for name, values in whole.items()}


def test_a_block_stops_at_the_first_evaluation_past_its_goal(whole: Rows) -> None:
    record = stopped(whole)
    found = rows(record)
    last = int(found["step"].max())
    assert 0 < last <= 12
    expected = up_to(whole, last)
    for name, values in found.items():
        if name.startswith(("train_", "test_")):
            # As after a last step, all splits are evaluated there.
            assert np.isfinite(values[found["step"] == last]).all()
        else:
            np.testing.assert_array_equal(values, expected[name], err_msg=name)
    assert [record.status(trial) for trial in range(TRIALS)] == [*["COMPLETE"] * 3, "INFEASIBLE"]


@pytest.mark.parametrize(
    "options", [{"devices": 2}, {"lanes": 4}, {"devices": 4, "devices_a_trial": 2}]
)
def test_devices_and_lanes_stop_alike(whole: Rows, options: dict[str, int]) -> None:
    def trained(**options: int) -> Rows:
        return rows(train("normalised", evaluations=EVALUATIONS, rule=rule(whole), **options))

    found, expected = trained(**options), trained()
    np.testing.assert_array_equal(found["step"], expected["step"])
    np.testing.assert_allclose(found[METRIC], expected[METRIC], rtol=1e-5)


def test_streamed_examples_stop_alike(whole: Rows) -> None:
    assert_same(stopped(whole, streamed=True), stopped(whole))


def test_trials_far_from_the_goal_are_evaluated_with_everyone_alone() -> None:
    far = FirstToGoal(Goal(METRIC, 1e-9), TRIALS, everyone=[0, 12, 24])
    found = rows(train("normalised", evaluations=EVALUATIONS, rule=far))
    evaluated = found["step"][np.isfinite(found[METRIC])]
    assert set(evaluated) == {0, 12, 24}


class _StopAt(Checkpoints):
    """Saves after every call, and stops at a step as a kill would."""

    at = 6

    def save_when_due(self, progress: Progress) -> None:
        super().save_when_due(progress)
        if progress.step == self.at:
            raise InterruptedError


def test_a_stopped_block_goes_on_with_what_its_rule_had_seen(whole: Rows, tmp_path: Path) -> None:
    def trained(checkpoints: Checkpoints | None) -> BlockRecord:
        return train(
            "normalised",
            evaluations=EVALUATIONS,
            diverging=DIVERGING,
            rule=rule(whole, dropping=2.0),
            checkpoints=checkpoints,
        )

    undisturbed = trained(None)
    # Otherwise the test would pass with a rule that starts anew.
    assert "INCOMPLETE" in [undisturbed.status(trial) for trial in range(TRIALS)]
    with pytest.raises(InterruptedError):
        trained(_StopAt(tmp_path, "made up", 0.0))
    again = trained(Checkpoints(tmp_path, "made up", 1e9))
    assert_same_columns(rows(again), rows(undisturbed))
    for trial in range(TRIALS):
        assert again.status(trial) == undisturbed.status(trial)
        assert again.steps(trial) == undisturbed.steps(trial)


def test_places_are_dealt_out_evenly_to_the_devices() -> None:
    slots = Slots(8, lambda trials: -(-trials // 4) * 4)
    slots.stop(np.array([0, 1, 4]))
    # Two places a device, and five trials alive: no device can have fewer than two.
    assert not slots.uneven(4)
    slots.stop(np.array([2]))
    # Now the last device has two where one each would do.
    assert slots.uneven(4)
    order = slots.even(4)
    assert slots.alive.reshape(4, 2).sum(1).tolist() == [1, 1, 1, 1]
    assert sorted(order.tolist()) == list(range(8))
    np.testing.assert_array_equal(slots.trial, order)
    assert set(slots.trial[slots.alive]) == {3, 5, 6, 7}
    assert not slots.uneven(4)
