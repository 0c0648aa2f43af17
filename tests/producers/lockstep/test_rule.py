"""The rule of a search in lockstep: order of studies, evaluations, and words that clash."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.errors import UsageError
from producers.lockstep.rule import LockstepRule, refuse_lockstep
from producers.workloads.registry import WORKLOADS

FC = WORKLOADS["mnist/fc_64_64_64/sgd"]


def test_studies_are_searched_outwards_from_the_widely_searched_one() -> None:
    chain = LockstepRule(wide_at=64).neighbours([1, 16, 64, 256, 1024])
    assert list(chain.items()) == [(64, None), (16, 64), (1, 16), (256, 64), (1024, 256)]


def test_the_closest_batch_size_is_searched_widely() -> None:
    # On the scale of doublings 16 is closer to 64 than 512 is.
    assert LockstepRule(wide_at=64).neighbours([512, 16]) == {16: None, 512: 16}
    assert LockstepRule(wide_at=64).neighbours([8]) == {8: None}


def test_without_windows_every_study_is_searched_widely() -> None:
    rule = LockstepRule(window=False)
    assert rule.neighbours([4, 1, 16]) == {4: None, 1: None, 16: None}


@given(st.integers(1, 6_000), st.sampled_from([1, 8, 64, 1_024, 16_384]))
def test_evaluations(train_steps: int, batch_size: int) -> None:
    steps, everyone = LockstepRule().evaluations(FC, train_steps, batch_size)
    ordered = list(steps)
    assert ordered == sorted(ordered)
    assert (ordered[0], ordered[-1]) == (0, train_steps)
    assert {0, train_steps} <= everyone <= set(steps)
    # Every split is evaluated of all trials alone, and at the end.
    assert {step for step, every_split in steps.items() if every_split} <= everyone
    assert steps[train_steps]
    for before, after in itertools.pairwise(ordered):
        # 2,000 examples, or a factor of 2 ** (1 / 8), rounded to steps.
        assert (after - before - 1) * batch_size < 2_000 or after <= before * 2 ** (1 / 8) + 1
    for before, after in itertools.pairwise(sorted(everyone)):
        # 4,000 examples, or a factor of 2 ** (1 / 4), on the finer grid.
        assert (after - before - 2) * batch_size < 6_000 or after <= before * 2 ** (3 / 8) + 3


def test_a_protocol_that_evaluates_every_so_many_steps_is_kept() -> None:
    sparse = WORKLOADS["sparsity_0/mnist/simple_cnn/sgd"]
    steps, everyone = LockstepRule().evaluations(sparse, 450, 32)
    assert list(steps) == [0, 100, 200, 300, 400, 450]
    assert everyone == set(steps)


def test_where_the_learning_rate_decays_lockstep_is_refused() -> None:
    with pytest.raises(UsageError, match=r"decays its learning rate .* --search fixed"):
        refuse_lockstep(WORKLOADS["cifar_10/resnet_8/sgd"])


def test_without_a_goal_lockstep_is_refused() -> None:
    with pytest.raises(UsageError, match="has no goal"):
        refuse_lockstep(replace(FC, goal=None))


def test_a_leader_is_more_than_once_as_fast() -> None:
    for dropping in (1.0, 0.5, float("inf"), float("nan")):
        with pytest.raises(UsageError, match="above 1"):
            LockstepRule(dropping=dropping)


def test_the_rule_is_recorded_as_json() -> None:
    recorded = LockstepRule(dropping=4.0).to_json()
    assert json.loads(json.dumps(recorded)) == recorded
    assert (recorded["method"], recorded["dropping"]) == ("window", 4.0)
