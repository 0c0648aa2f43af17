"""Searches: ranges, points that do not depend on how many are wanted, lockstep and its windows."""

import contextlib
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import UsageError
from producers.lockstep import LockstepRule, Optimum, Windows, refuse_lockstep, together
from producers.search import Choice, Range, SearchSpace, Sobol, points
from producers.training.optimizers import OPTIMIZERS
from producers.workloads.definition import EvaluationRule, search_space
from producers.workloads.registry import WORKLOADS
from tests.support.slow import quick_few


def test_the_middle_of_a_range():
    assert Range(1e-4, 1.0, "LOG_SCALE").at(0.5) == pytest.approx(1e-2, rel=1e-12)
    # Halfway between 0.1 and 0.0001 on the scale of one minus the value.
    momenta = Range(0.9, 0.9999, "REVERSE_LOG_SCALE")
    assert momenta.at(0.5) == pytest.approx(1 - 10**-2.5, rel=1e-12)


@pytest.mark.parametrize("scale", ["LINEAR_SCALE", "LOG_SCALE"])
def test_whole_numbers_include_both_ends(scale):
    metaparameter = Range(2, 5, scale, integer=True)
    drawn = [metaparameter.at(position) for position in np.linspace(0, 1, 1000, endpoint=False)]
    assert sorted(set(drawn)) == [2.0, 3.0, 4.0, 5.0]
    if scale == "LINEAR_SCALE":
        assert [drawn.count(value) for value in (2.0, 3.0, 4.0, 5.0)] == [250] * 4


def test_choices_take_equal_shares():
    choice = Choice((3.0, 1.0, 2.0))
    drawn = [choice.at(position / 300) for position in range(300)]
    assert [drawn.count(value) for value in choice.values] == [100] * 3
    assert choice.to_json() == {"type": "DISCRETE", "feasible_points": [3.0, 1.0, 2.0]}


SPACE = {
    "learning_rate": Range(1e-4, 10.0, "LOG_SCALE"),
    "momentum": Range(0.9, 0.9999, "REVERSE_LOG_SCALE"),
}


@given(first=st.integers(0, 40), count=st.integers(1, 40))
def test_point_k_is_the_same_however_many_are_asked_for(first, count):
    assert points(SPACE, seed=4, first=first, count=count) == ALL[first : first + count]


ALL = points(SPACE, seed=4, first=0, count=80)


def test_points_fill_the_space_evenly():
    """Of the first 64 points of a Sobol sequence, each cell of an 8 by 8 grid holds one."""
    cells = {
        (
            int(SPACE["learning_rate"].position(point["learning_rate"]) * 8),
            int(SPACE["momentum"].position(point["momentum"]) * 8),
        )
        for point in ALL[:64]
    }
    assert len(cells) == 64


def test_a_sequence_that_is_not_scrambled_by_hand():
    """The first points of the two-dimensional sequence, on ranges of 16 steps a dimension."""
    space = {"x": Range(0.0, 16.0), "y": Range(0.0, 16.0)}
    expected = [(0, 0), (8, 8), (12, 4), (4, 12), (6, 6), (14, 14), (10, 2)]
    for seed in (1, 2):
        drawn = points(space, seed=seed, first=0, count=7, sobol=Sobol(scramble=False))
        assert [(point["x"], point["y"]) for point in drawn] == expected
    for first, count, skip in ((0, 6, 1), (2, 2, 1), (0, 1, 6)):
        sobol = Sobol(scramble=False, skip=skip)
        part = points(space, seed=1, first=first, count=count, sobol=sobol)
        start = first + skip
        assert [(each["x"], each["y"]) for each in part] == expected[start : start + count]


@pytest.mark.parametrize(
    "arguments",
    [(2.0, 1.0), (0.0, 1.0, "LOG_SCALE"), (0.5, 1.0, "REVERSE_LOG_SCALE"), (0.1, 1.0, "log")],
)
def test_ranges_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ValueError, match=r"range|'log' is not one of"):
        Range(*arguments)


RATES = Range(1e-4, 10.0, "LOG_SCALE")
MOMENTA = Range(0.9, 0.9999, "REVERSE_LOG_SCALE")
SGD = Windows({"learning_rate": RATES}, effective=False)
MOMENTUM = Windows({"learning_rate": RATES, "momentum": MOMENTA}, effective=True)


def optimum(batch_size: int, **metaparameters: float) -> Optimum:
    return Optimum(batch_size, 7, metaparameters)


def ends(space: object) -> tuple[float, float]:
    assert isinstance(space, Range)
    return space.minimum, space.maximum


@pytest.mark.parametrize(
    ("at", "rate", "to", "expected"),
    [
        (64, 0.1, 64, (0.1 * 10**-0.75, 0.1 * 10**0.75)),
        # It moves with the square root of the batch size.
        (64, 0.1, 256, (0.2 * 10**-0.75, 0.2 * 10**0.75)),
        # Beyond the search space there is half a window at its end.
        (1, 9.0, 10_000, (10 * 10**-0.75, 10.0)),
    ],
)
def test_a_window_of_the_learning_rate_is_a_decade_and_a_half(at, rate, to, expected):
    found = SGD.around(optimum(at, learning_rate=rate), to)
    assert ends(found["learning_rate"]) == pytest.approx(expected)


def test_with_momentum_the_window_is_of_the_effective_learning_rate():
    # 0.02 / (1 - 0.98) = 1; one minus the momentum is 0.02.
    found = MOMENTUM.around(optimum(64, learning_rate=0.02, momentum=0.98), 64)
    assert set(found) == {"effective_learning_rate", "momentum"}
    assert ends(found["effective_learning_rate"]) == pytest.approx((10**-0.75, 10**0.75))
    low, high = ends(found["momentum"])
    assert (1 - high, 1 - low) == pytest.approx((0.02 * 10**-0.5, 0.02 * 10**0.5))


def test_points_become_learning_rates_of_their_momentum():
    point = {"effective_learning_rate": 1.0, "momentum": 0.98}
    assert MOMENTUM.metaparameters(point) == pytest.approx(
        {"learning_rate": 0.02, "momentum": 0.98}
    )
    # Not beyond the learning rates of the space.
    point = {"effective_learning_rate": 1e6, "momentum": 0.9}
    assert MOMENTUM.metaparameters(point)["learning_rate"] == 10.0


def test_an_optimum_in_the_outer_tenth_widens_its_side():
    searched: SearchSpace = {"learning_rate": Range(0.01, 0.01 * 10**1.5, "LOG_SCALE")}
    assert SGD.widened(searched, {"learning_rate": 0.05}) is None
    lower = SGD.widened(searched, {"learning_rate": 0.01 * 10**0.1})
    assert lower is not None
    assert ends(lower["learning_rate"]) == pytest.approx((0.01 * 10**-0.75, 0.01))
    upper = SGD.widened(searched, {"learning_rate": 0.01 * 10**1.4})
    assert upper is not None
    assert ends(upper["learning_rate"]) == pytest.approx((0.01 * 10**1.5, 0.01 * 10**2.25))
    both = together(searched, upper)
    assert ends(both["learning_rate"]) == pytest.approx((0.01, 0.01 * 10**2.25))
    # At the border of the space there is nothing to widen.
    searched = {"learning_rate": Range(0.5, 10.0, "LOG_SCALE")}
    assert SGD.widened(searched, {"learning_rate": 9.9}) is None
    assert SGD.widened(searched, {"learning_rate": 0.51}) is not None


def test_momenta_widen_towards_one():
    searched: SearchSpace = {
        "effective_learning_rate": Range(0.1, 0.1 * 10**1.5, "LOG_SCALE"),
        "momentum": Range(0.9, 0.99, "REVERSE_LOG_SCALE"),
    }
    # An effective rate of 0.5, in the middle; the momentum at 0.989, near the upper end.
    more = MOMENTUM.widened(searched, {"learning_rate": 0.5 * 0.011, "momentum": 0.989})
    assert more is not None
    low, high = ends(more["momentum"])
    assert (1 - low, 1 - high) == pytest.approx((0.01, 0.01 * 10**-0.5))
    assert more["effective_learning_rate"] == searched["effective_learning_rate"]
    # At 0.9 the space ends.
    assert MOMENTUM.widened(searched, {"learning_rate": 0.05, "momentum": 0.9}) is None


def test_windows_of_every_optimizer_have_its_metaparameters():
    for name, definition in OPTIMIZERS.items():
        windows = Windows(dict(definition.search_space), definition.sums_up)
        middle = {each: range_.at(0.5) for each, range_ in definition.search_space}
        window = windows.around(Optimum(64, 0, middle), 64)
        point = {each: range_.at(0.25) for each, range_ in window.items()}
        assert set(windows.metaparameters(point)) == set(middle), name


MOMENTA_OF = [name for name, each in OPTIMIZERS.items() if "momentum" in dict(each.search_space)]
# The first direction of RMSProp is not scaled yet. Muon's step takes long to compile, and is that
# of muon_hidden for a single kernel.
MEASURED = quick_few([name for name in MOMENTA_OF if name != "rmsprop"], {*MOMENTA_OF} - {"muon"})


@pytest.mark.parametrize("name", MEASURED)
def test_momentum_sums_up_directions_where_its_optimizer_says_so(name):
    """A steady gradient then moves the weights by learning_rate / (1 - momentum)."""
    import jax
    import jax.numpy as jnp

    definition = OPTIMIZERS[name]
    values = {"momentum": 0.9, "weight_decay": 0.0}
    # A matrix of rank one, whose direction muon keeps as it is whatever its size.
    weights = {"kernel": jnp.ones((4, 4))}
    rule = definition.direction({each: jnp.float32(value) for each, value in values.items()})
    state, moves, update = rule.init(weights), [], jax.jit(rule.update)
    for _ in range(50):
        direction, state = update({"kernel": jnp.ones((4, 4))}, state, weights)
        moves.append(float(direction["kernel"][0, 0]))
    assert (moves[-1] / moves[0] > 5) is definition.sums_up


@given(
    st.floats(1e-4, 10.0),
    st.floats(0.9, 0.9999),
    st.integers(0, 16),
    st.integers(0, 16),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=2, max_size=2),
)
def test_points_of_a_window_lie_in_the_space_and_its_bounds(rate, momentum, at, to, positions):
    window = MOMENTUM.around(optimum(2**at, learning_rate=rate, momentum=momentum), 2**to)
    point = {
        name: range_.at(position)
        for (name, range_), position in zip(window.items(), positions, strict=True)
    }
    found = MOMENTUM.metaparameters(point)
    bounds = MOMENTUM.bounds(window)
    for name, limits in (("learning_rate", RATES), ("momentum", MOMENTA)):
        assert limits.minimum <= found[name] <= limits.maximum
        low, high = ends(bounds[name])
        assert low * (1 - 1e-9) <= found[name] <= high * (1 + 1e-9)


FC = WORKLOADS["mnist/fc_64_64_64/sgd"]


@pytest.mark.parametrize(
    ("window", "batch_sizes", "chain"),
    [
        # Outwards from the one that is searched widely, the smaller ones first.
        (True, [1, 16, 64, 256, 1024], [(64, None), (16, 64), (1, 16), (256, 64), (1024, 256)]),
        # On the scale of doublings 16 is closer to 64 than 512 is.
        (True, [512, 16], [(16, None), (512, 16)]),
        (False, [4, 1, 16], [(4, None), (1, None), (16, None)]),
    ],
)
def test_each_study_starts_from_its_neighbour(window, batch_sizes, chain):
    rule = LockstepRule(window=window, wide_at=64)
    assert list(rule.neighbours(batch_sizes).items()) == chain


@given(st.integers(1, 6_000), st.sampled_from([1, 8, 64, 1_024, 16_384]))
def test_evaluations(train_steps, batch_size):
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


def test_a_protocol_that_evaluates_every_so_many_steps_is_kept():
    sparse = WORKLOADS["sparsity_0/mnist/simple_cnn/sgd"]
    steps, everyone = LockstepRule().evaluations(sparse, 450, 32)
    assert list(steps) == [0, 100, 200, 300, 400, 450]
    assert everyone == set(steps)


def test_evaluations_after_fewer_examples_where_the_workload_asks_for_that():
    own = replace(FC, evaluation=EvaluationRule(examples_between=100))
    steps, everyone = LockstepRule().evaluations(own, 200, 16)
    # A hundred examples are 7 steps, until steps grow by 9 %, and by 19 % for all trials.
    assert [*steps][:5] == [0, 7, 14, 21, 28]
    assert sorted(everyone)[:5] == [0, 7, 14, 21, 28]
    assert [*steps][-2] >= 180
    recorded = LockstepRule().to_json(own)["evaluations"]
    assert [rule["examples_between"] for rule in recorded.values()] == [100, 100]


def test_without_a_goal_lockstep_is_refused():
    with pytest.raises(UsageError, match="has no goal"):
        refuse_lockstep(replace(FC, goal=None), LockstepRule())


@pytest.mark.parametrize(
    ("optimizer", "name", "refused"),
    [
        ("sgd", "learning_rate", True),
        ("nesterov_momentum", "momentum", True),
        ("adam", "beta1", False),
    ],
)
def test_windows_need_ranges_to_be_cut_from(optimizer, name, refused):
    found = dict(search_space(optimizer)) | {name: Choice((0.9, 0.95))}
    workload = replace(FC, optimizer=optimizer, search_space=tuple(found.items()))
    refuse_lockstep(workload, LockstepRule(window=False))
    sentence = f"takes its {name} from a few values, of which there is no window"
    with pytest.raises(UsageError, match=sentence) if refused else contextlib.nullcontext():
        refuse_lockstep(workload, LockstepRule())
