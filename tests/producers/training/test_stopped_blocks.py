"""Trials that advance together: when they stop, and the rows of those that train on up to there."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.training.block_record import BlockRecord, Slots
from producers.training.stopping import FirstToGoal, Goal
from tests.support.blocks import TRIALS, Rows, assert_same, rows, stopped_and_resumed, train

EVALUATIONS = {step: step % 12 == 0 for step in range(0, 25, 2)}
METRIC = "val_cross_entropy_error"
# Its trials learn at different speeds, and one diverges.
DIVERGING = {3: 1e30}


@pytest.fixture(scope="module")
def whole() -> Rows:
    """The rows of the trials when they train to their end."""
    return rows(train("normalised", evaluations=EVALUATIONS, diverging=DIVERGING))


def stopped(whole: Rows, dropping: float | None = None, **options: Any) -> BlockRecord:
    """Stops at the value that the best trial had after twelve steps."""
    value = float(np.nanmin(whole[METRIC][whole["step"] <= 12]))
    # A little more than that, since the last digits depend on the devices.
    goal = Goal(METRIC, value * 1.001)
    rule = FirstToGoal(goal, TRIALS, everyone=EVALUATIONS, dropping=dropping)
    options |= {"evaluations": EVALUATIONS, "diverging": DIVERGING}
    return train("normalised", rule=rule, **options)


def test_a_block_stops_at_the_first_evaluation_past_its_goal(whole):
    record = stopped(whole)
    found = rows(record)
    last = int(found["step"].max())
    assert 0 < last <= 12
    kept = whole["step"] <= last
    for name, values in found.items():
        if name.startswith(("train_", "test_")):
            # As after a last step, all splits are evaluated there.
            assert np.isfinite(values[found["step"] == last]).all()
        else:
            np.testing.assert_array_equal(values, whole[name][kept], err_msg=name)
    assert [record.status(trial) for trial in range(TRIALS)] == [*["COMPLETE"] * 3, "INFEASIBLE"]


def test_trials_far_from_the_goal_are_evaluated_with_everyone_alone():
    far = FirstToGoal(Goal(METRIC, 1e-9), TRIALS, everyone=[0, 12, 24])
    found = rows(train("normalised", evaluations=EVALUATIONS, rule=far))
    evaluated = found["step"][np.isfinite(found[METRIC])]
    assert set(evaluated) == {0, 12, 24}


def test_a_stopped_block_goes_on_with_what_its_rule_had_seen(whole, tmp_path):
    undisturbed = stopped(whole, 2.0)
    # Otherwise the test would pass with a rule that starts anew.
    assert "INCOMPLETE" in [undisturbed.status(trial) for trial in range(TRIALS)]
    # After the evaluations up to step 6, by which the one at step 12 drops a trial.
    again = stopped_and_resumed(tmp_path, 8, partial(stopped, whole, 2.0))
    assert_same(again, undisturbed)
    for trial in range(TRIALS):
        assert again.status(trial) == undisturbed.status(trial)
        assert again.steps(trial) == undisturbed.steps(trial)


def test_slots_are_dealt_out_evenly_and_dropped_once_half_as_many_would_do():
    slots = Slots(12, lambda trials: -(-trials // 4) * 4)
    slots.stop(np.array([3, 6, 9]))
    # Three slots a device, and nine trials alive: no device can have fewer than three.
    assert slots.rearranged(4) is None
    slots.stop(np.array([10]))
    # Now the first device has three where two each would do.
    order = slots.rearranged(4)
    assert order is not None
    assert slots.alive.reshape(4, 3).sum(1).tolist() == [2, 2, 2, 2]
    assert sorted(order.tolist()) == list(range(12))
    np.testing.assert_array_equal(slots.trial, order)
    assert set(slots.trial[slots.alive]) == {0, 1, 2, 4, 5, 7, 8, 11}
    # Three trials need one slot a device, of which the last is filled up.
    slots.stop(np.array([0, 1, 2, 4, 8]))
    assert slots.rearranged(4) is not None
    assert set(slots.trial) == {5, 7, 11}
    assert slots.alive.tolist() == [True, True, True, False]
    slots.stop(np.array([5, 7, 11]))
    assert slots.rearranged(4) is None


ERROR = Goal("val_classification_error", 0.03)


@pytest.mark.parametrize(
    ("goal", "reached"),
    [
        (ERROR, [True, False, False]),
        (Goal("val_classification_error", 0.03, inclusive=True), [True, True, False]),
        (Goal("val_average_precision", 0.03, maximize=True), [False, False, True]),
        (Goal("val_average_precision", 0.03, maximize=True, inclusive=True), [False, True, True]),
    ],
)
def test_a_goal_is_reached_past_it_or_at_it(goal, reached):
    # 149, 150 and 151 errors of 5,000, as evaluations divide them.
    assert goal.reached(np.array([149, 150, 151]) / 5_000).tolist() == reached


def test_not_a_number_reaches_nothing_and_is_the_worst():
    for goal in (ERROR, Goal("val_average_precision", 0.3, maximize=True)):
        values = np.array([np.nan, 0.5])
        assert not goal.reached(values)[0]
        assert not goal.near(values)[0]
        assert goal.cost(values).argmax() == 0


def observe(rule: FirstToGoal, step: int, values: dict[int, float]) -> list[int]:
    dropped = rule.observe(step, np.array(list(values)), np.array(list(values.values())))
    return sorted(dropped.tolist())


def test_trials_near_the_goal_are_evaluated_more_often_than_the_others():
    rule = FirstToGoal(ERROR, 3, everyone=[0, 10])
    assert rule.due(0).tolist() == [True, True, True]
    observe(rule, 0, {0: 0.9, 1: 0.9, 2: 0.9})
    assert rule.due(5).tolist() == [False, False, False]
    # Under 0.06, twice the goal, once is enough.
    observe(rule, 10, {0: 0.05, 1: 0.06, 2: 0.2})
    assert rule.due(11).tolist() == [True, False, False]
    observe(rule, 11, {0: 0.07})
    assert rule.due(12).tolist() == [True, False, False]


def test_the_third_past_the_goal_ends_it_where_three_have_to_be():
    # No more can be past it than there are.
    alone = FirstToGoal(ERROR, 1, everyone=[], reaching=3)
    observe(alone, 10, {0: 0.02})
    assert alone.ended
    rule = FirstToGoal(ERROR, 4, everyone=[], reaching=3)
    observe(rule, 10, {0: 0.02, 1: 0.04})
    # Twice the same trial is one, also where its value gets worse again.
    observe(rule, 20, {0: 0.05, 1: 0.02})
    assert not rule.ended
    observe(rule, 30, {0: 0.02, 3: 0.02})
    assert rule.ended


def test_a_leader_that_diverges_drops_nobody_and_leads_no_more():
    """As one that led at batch size 4,096 and dropped all others at step 4."""
    rule = FirstToGoal(ERROR, 3, everyone=[], dropping=4)
    assert observe(rule, 1, {0: 0.30, 1: 0.80, 2: 0.90}) == []
    assert observe(rule, 4, {0: 0.20, 1: 0.70, 2: 0.80}) == []
    # Even one that had come near the goal.
    assert observe(rule, 5, {0: 0.05, 1: 0.70, 2: 0.80}) == [1, 2]
    rule = FirstToGoal(ERROR, 2, everyone=[], dropping=4)
    assert observe(rule, 3, {0: 0.05, 1: 0.70}) == []
    assert observe(rule, 12, {1: 0.60}) == []


def test_leaders_of_earlier_rounds_drop_trials_too():
    rule = FirstToGoal(ERROR, 1, everyone=[], dropping=2, leader=[(0, 0.9), (5, 0.4), (8, 0.1)])
    assert observe(rule, 10, {0: 0.40}) == []
    assert observe(rule, 14, {0: 0.45}) == []  # its best is still 0.40
    assert observe(rule, 16, {0: 0.20}) == [0]


@given(st.data())
def test_dropped_trials_are_those_that_are_behind(data):
    """Compares with the rule in words, worked out from the whole history at each evaluation."""
    trials = data.draw(st.integers(1, 4))
    steps = sorted(data.draw(st.sets(st.integers(1, 60), min_size=1, max_size=8)))
    dropping = data.draw(st.floats(1.5, 8))
    errors = st.floats(0.0, 1.0)
    rule = FirstToGoal(ERROR, trials, everyone=steps, dropping=dropping)
    seen: list[tuple[int, int, float]] = []
    alive = set(range(trials))
    for step in steps:
        values = {trial: data.draw(errors) for trial in sorted(alive)}
        seen += [(step, trial, value) for trial, value in values.items()]
        dropped = observe(rule, step, values)
        near = {trial for _, trial, value in seen if value < 0.06} & values.keys()
        ahead = [value for at, each, value in seen if at <= step / dropping and each in near]
        for trial in alive:
            own = min(value for _, each, value in seen if each == trial)
            assert (trial in dropped) == (bool(ahead) and own > min(ahead))
        # Some of the others diverge.
        alive -= {*dropped, *data.draw(st.sets(st.sampled_from(sorted(alive))))}
        if not alive:
            break
