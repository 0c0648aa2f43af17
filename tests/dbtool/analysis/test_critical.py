"""Critical batch sizes and their ratios: published fits, curves without noise, planted truth."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f as f_distribution

import dbtool
from benchmarks.planted_truth import sweep
from dbtool.analysis.censored import closed_interval, peak, profile_bound
from dbtool.analysis.critical import FittedCurve, StepsAt, fit_curve
from dbtool.analysis.interval import Interval, ratio
from dbtool.analysis.kinds import Form
from dbtool.core.errors import UsageError
from tests.support import zhang
from tests.support.made_up import passing, write_shard

SIZES = [2.0**power for power in range(14)]


def known(steps: Mapping[Any, float]) -> list[StepsAt]:
    return [StepsAt(size, each, each) for size, each in steps.items()]


def fitted(steps: list[StepsAt], form: Form = "bent") -> FittedCurve:
    found = fit_curve(steps, level=0.95, form=form)
    assert found is not None
    return found


def curve(steps: Mapping[Any, float], form: Form = "bent") -> FittedCurve:
    return fitted(known(steps), form)


def exact(critical: float, sizes: list[float], bend: float = 1) -> dict[float, float]:
    """The steps of a curve with 700 fewest steps."""
    return {size: 700 * (1 + (critical / size) ** bend) ** (1 / bend) for size in sizes}


def overhead_of(found: FittedCurve, start: float = 256) -> Any:
    """Where steps exceed linear scaling by a fifth."""
    return found.overhead(0.2, start)


def profiled(
    steps: Mapping[Any, float], bends: Any, criticals: Any, quantity: Any
) -> tuple[float, float]:
    """The 95 % profile interval of a quantity of p and Bc, on a grid that hides nothing.

    Of steps that are known the likelihood is that of least squares, with 0.03 the least deviation.
    """
    sizes, logs = np.log(np.array([*steps.items()], float)).T
    log_bends, log_criticals = np.meshgrid(np.log(bends), np.log(criticals), indexing="ij")
    power = np.exp(log_bends)[..., None] * (log_criticals[..., None] - sizes)
    rest = logs - np.logaddexp(0, power) / np.exp(log_bends)[..., None]
    squares = ((rest - rest.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    scale = np.maximum(np.sqrt(squares / len(sizes)), 0.03)
    height = -len(sizes) * np.log(scale) - squares / (2 * scale**2) - (log_bends / 0.6) ** 2 / 2
    freedom = len(sizes) - (2 if len(bends) == 1 else 3)
    bound = len(sizes) / 2 * np.log1p(f_distribution.ppf(0.95, 1, freedom) / freedom)
    within = height >= height.max() - bound
    found = quantity(np.exp(log_bends[within]), np.exp(log_criticals[within]))
    return float(found.min()), float(found.max())


def to_perfect(bend: Any, critical: Any) -> Any:
    """Where examples exceed the fewest by a fifth, or Bc."""
    return critical * np.minimum((1.2**bend - 1) ** (1 / bend), 1)


@pytest.mark.parametrize(
    ("bend", "noise", "powers"),
    [(1.0, 0.0, 17), (0.86, 0.05, 12), (3.0, 0.03, 17)],
)
def test_ends_of_intervals_are_those_of_the_likelihood_however_precise_steps_are(
    bend, noise, powers
):
    """A grid of bends and critical batch sizes of its own had put ends onto the value itself."""
    rng = np.random.default_rng(powers)
    planted = exact(430, [2.0**power for power in range(powers)], bend)
    steps = {size: each * math.exp(noise * rng.normal()) for size, each in planted.items()}
    found = curve(steps)
    bends = bend * np.exp(np.linspace(-1, 1, 601) * (0.2 + 6 * noise))
    bends = bends[(bends >= 0.3) & (bends <= 8)]
    criticals = 430 * np.exp(np.linspace(-1, 1, 801) * (0.15 + 6 * noise))
    for estimate, quantity in (
        (found.tradeoff, lambda _, critical: critical),
        (found.perfect_to(0.2), to_perfect),
        (found.bend, lambda bend, _: bend),
    ):
        low, high = profiled(steps, bends, criticals, quantity)
        room = 0.04 * math.log(high / low)
        assert estimate.low == pytest.approx(low, rel=math.expm1(room))
        assert estimate.high == pytest.approx(high, rel=math.expm1(room))
        assert estimate.value is not None
        assert estimate.low < estimate.value < estimate.high
    hyperbola = curve(steps, "hyperbola").tradeoff
    ends = profiled(steps, np.ones(1), criticals, lambda _, critical: critical)
    room = 0.04 * math.log(ends[1] / ends[0])
    assert (hyperbola.low, hyperbola.high) == pytest.approx(ends, rel=math.expm1(room))


def test_published_fits_are_those_of_hyperbolas():
    for millions, overhead in zhang.OVERHEADS.items():
        found = curve(dict(zip(zhang.SIZES, zhang.STEPS[millions], strict=True)), "hyperbola")
        estimate = overhead_of(found)
        assert estimate.value == pytest.approx(overhead, rel=0.005)
        assert estimate.low < overhead < estimate.high
        assert found.bend.value == found.at_tradeoff / 2 == 1
        if millions == 85:
            assert found.steps == pytest.approx(1293.8, rel=0.005)
            assert found.steps * found.critical == pytest.approx(2834258, rel=0.005)


@pytest.mark.parametrize(("critical", "bend"), [(20.0, 0.5), (1500.0, 1.0), (20.0, 3.0)])
def test_a_curve_is_found_again(critical, bend):
    steps = exact(critical, [2.0**power for power in range(-6, 20)], bend)
    found = curve(steps)
    # The prior draws it towards 1.
    assert found.bend.value == pytest.approx(bend, rel=0.06)
    assert found.at(64.0) == pytest.approx(steps[64.0], rel=0.01)
    assert found.tradeoff.value == pytest.approx(critical, rel=0.02)

    def at(size: float | None) -> float:
        assert size
        return exact(critical, [size], bend)[size]

    # By their definitions: steps over linear scaling from 4, steps, and examples over the fewest.
    overhead = overhead_of(found, 4)
    assert at(overhead.value) * overhead.value == pytest.approx(1.2 * 4 * at(4), rel=0.03)
    assert at(found.useful_to(0.2).value) == pytest.approx(1.2 * 700, rel=0.03)
    perfect = found.perfect_to(0.2)
    if perfect.value:
        assert perfect.value == found.speedup(0.2).value
        assert at(perfect.value) * perfect.value == pytest.approx(1.2 * 700 * critical, rel=0.03)


def test_the_value_moves_continuously_from_a_hyperbola_to_measurements():
    measured = np.log(zhang.STEPS[151])
    hyperbola = np.log([2300 * (1 + 2858 / size) for size in zhang.SIZES])
    values = []
    for share in np.linspace(0, 1, 21):
        steps = np.exp((1 - share) * hyperbola + share * measured).tolist()
        values.append(overhead_of(curve(dict(zip(zhang.SIZES, steps, strict=True)))).value)
    ratios = np.divide(values[1:], values[:-1])
    assert 1 < ratios.min() <= ratios.max() < 1.03


def tables() -> st.SearchStrategy[pl.DataFrame]:
    """Steps at 3 to 12 batch sizes: of any bend, of knees, or of nothing at all."""

    def table(first, steps, critical, bend, noise):
        sizes = [2.0 ** (first + index) for index in range(len(steps))]
        smooth = [1 + (critical / size) ** bend for size in sizes]
        mixed = [s ** (1 / bend) * each**noise for s, each in zip(smooth, steps, strict=True)]
        return pl.DataFrame({"batch_size": sizes, "steps": mixed})

    return st.builds(
        table,
        st.integers(0, 8),
        st.lists(st.floats(1, 1e7), min_size=3, max_size=12),
        st.floats(0.1, 1e6),
        st.floats(0.3, 8),
        st.sampled_from([0.0, 0.01, 0.05, 1.0]),
    )


@given(tables(), st.none() | st.floats(0.5, 1e5))
def test_no_answer_contradicts_itself(table, start):
    """Neither its numbers nor its words."""
    report = dbtool.scaling_of_table(table, start=start)
    critical = {row["definition"]: row for row in report.rows("critical").to_dicts()}
    [ends] = report.rows("regimes").to_dicts()
    at = {name: critical[name]["critical_batch_size"] or math.nan for name in critical}
    perfect, useful = (ends[name] or math.nan for name in ("perfect_to", "useful_to"))
    rounding = 1 + 1e-9
    for less, more in [
        (perfect, at["tradeoff"]),
        (at["tradeoff"], useful),
        (perfect, at["overhead"]),
        (perfect, at["speedup"]),
        (ends["perfect_to_low"] or 0, ends["useful_to_low"] or 0),
        (ends["perfect_to_high"] or 0, ends["useful_to_high"] or math.inf),
    ]:
        assert not less > more * rounding
    for row in critical.values():
        value, low, high = row["critical_batch_size"], row["low"], row["high"]
        assert (row["verdict"] == "identified") == (value is not None)
        assert value is None or low <= value <= high
    said = " ".join(str(report).split())
    if told := re.search(r"up to ([\d,.]+) \(.* beyond ([\d,.]+) \(", said):
        in_words = [float(each.replace(",", "")) for each in told.groups()]
        assert in_words == pytest.approx([perfect, useful], rel=0.01)


# A plain quotient of the fewest examples to the fewest steps reads 75 and 458 of these.
@pytest.mark.parametrize(("first", "last"), [(1, 128), (256, 8192)])
def test_ranges_on_one_side_give_a_bound_and_no_number(first, last):
    sizes = [size for size in SIZES if first <= size <= last]
    rng = np.random.default_rng(0)
    steps = {size: each * math.exp(0.03 * rng.normal()) for size, each in exact(200, sizes).items()}
    estimate = curve(steps).tradeoff
    assert estimate.value is None
    assert estimate.verdict == ("lower_bound" if first == 1 else "upper_bound")
    assert estimate.low <= 200 <= estimate.high


def test_far_beyond_an_open_end_steps_are_those_of_the_limits():
    sizes = (2, 4, 8, 16, 32, 64)
    falling, even = curve({size: 6_400 / size for size in sizes}), curve(dict.fromkeys(sizes, 100))
    for size in (1e3, 1e6, 1e12):
        found = falling.between(size)
        assert found.low <= 6_400 / size <= found.high
        assert even.between(1 / size).low <= 100
    assert (falling.fewest_steps, falling.fewest_examples.low > 0) == (None, True)
    assert even.fewest_steps == pytest.approx(100, rel=0.01)
    assert (even.fewest_examples.low, even.fewest_examples.high < 400) == (0, True)


def test_goals_that_were_missed_count_as_bounds():
    steps = known(exact(100, SIZES[4:]))
    # Too few steps were given to the small batch sizes for them to have got there in any case.
    vague = [StepsAt(size, 100, math.inf) for size in SIZES[:4]]
    telling = [StepsAt(size, each * 0.97, math.inf) for size, each in exact(100, SIZES[:4]).items()]
    alone, with_vague, with_telling = (fitted(more + steps) for more in ([], vague, telling))
    assert with_vague.tradeoff.low == pytest.approx(alone.tradeoff.low, rel=0.02)
    assert with_telling.reached == (16.0, SIZES[-1])
    assert with_telling.tradeoff.low >= 0.95 * with_vague.tradeoff.low
    # Steps of which nothing is known change nothing.
    for upper in (math.inf, 0.0):
        assert fitted([*steps, StepsAt(2.0**20, 0.0, upper)]) == alone


@pytest.mark.parametrize(("form", "fewest"), [("bent", 4), ("hyperbola", 3)])
def test_a_fit_takes_a_batch_size_more_than_parameters(form, fewest):
    steps = known(exact(100, SIZES[4:]))
    missed = [StepsAt(2.0**20, 3, math.inf)]
    assert fit_curve([*steps[: fewest - 1], *missed], level=0.9, form=form) is None
    assert fit_curve([*steps[:fewest], *missed], level=0.9, form=form) is not None


def test_intervals_of_a_line_are_students():
    # For values that are known, a line's interval by the F quantile is the textbook's.
    rng = np.random.default_rng(2)
    values = rng.normal(size=8)
    grid = np.linspace(-3, 3, 20_001)
    squares = ((values - grid[:, None]) ** 2).sum(axis=1)
    likelihood = -4 * np.log(squares)
    floor = likelihood.max() - profile_bound(8, 1, 0.95)
    low, high = closed_interval(grid, likelihood, floor)
    half = math.sqrt(f_distribution.ppf(0.95, 1, 7)) * values.std(ddof=1) / math.sqrt(8)
    assert low == pytest.approx(values.mean() - half, abs=1e-3)
    assert high == pytest.approx(values.mean() + half, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "sweeps", "fewest"),
    [
        # Of so many intervals at 95 % fewer would hold the truth once in a hundred thousand times.
        ("hyperbola", 20, 30),
        pytest.param("noisy quadratic", 100, 176, marks=pytest.mark.slow),
        pytest.param("bend 0.4", 100, 170, marks=pytest.mark.slow),
        pytest.param("hyperbola, replicates", 100, 176, marks=pytest.mark.slow),
    ],
)
def test_planted_truth_lies_in_the_intervals(kind, sweeps, fewest):
    outcomes = [each for seed in range(sweeps) for each in sweep(kind, seed)]
    assert sum(each.covers for each in outcomes) >= fewest
    assert sum(each.verdict == "identified" for each in outcomes) > len(outcomes) / 3


def test_the_peak_of_a_flat_top_is_its_middle():
    grid = np.linspace(0, 8, 9)
    summit = -((grid - 3.2) ** 2)
    assert peak(grid, summit) == pytest.approx(3.2)
    # What is within rounding of the highest is as high.
    flat = np.minimum(summit, -2) + 1e-9 * np.cos(grid)
    assert peak(grid, flat) == 3
    assert peak(grid, np.zeros(9)) == 4


def test_ratios_by_hand():
    # In octaves: 3 - 1 with distances 3 and 4 to the ends below, 6 and 8 above: 5 and 10.
    found = ratio(Interval(8, 1, 512), Interval(2, 2**-7, 32))
    assert found.value == 4
    assert math.log2(found.low) == pytest.approx(2 - 5)
    assert math.log2(found.high) == pytest.approx(2 + 10)
    same = Interval(8, 4, 16)
    assert ratio(same, same).value == 1
    # Of bounds it is `Interval.over`.
    beyond = Interval(None, 100, math.inf)
    assert ratio(beyond, same) == Interval(None, 100 / 16, math.inf)
    assert ratio(None, beyond) == Interval(None, 0, math.inf)


def test_intervals_hold_planted_ratios_as_often_as_they_say():
    rng = np.random.default_rng(0)
    sizes, runs, held = 2.0 ** np.arange(12), 15, 0

    def estimate(critical: float) -> Interval:
        steps = 500 * (1 + critical / sizes) * np.exp(0.08 * rng.normal(size=len(sizes)))
        found = fit_curve([StepsAt(b, s, s) for b, s in zip(sizes, steps, strict=True)], level=0.9)
        assert found is not None
        return found.tradeoff

    for _ in range(runs):
        found = ratio(estimate(90), estimate(30))
        held += found.low <= 3 <= found.high
    # At least what they say, up to three standard deviations of the count.
    assert held >= 0.9 * runs - 3 * math.sqrt(runs * 0.9 * 0.1)


def test_a_report_compares_with_a_workload_or_another_release(tmp_path):
    sgd, adam = "mnist/fc/sgd", "mnist/fc/adam"
    for release, workload, critical in (("one", sgd, 16), ("one", adam, 64), ("two", sgd, 64)):
        for size in 4 ** np.arange(6):
            rows = passing(round(100 * (1 + critical / size)))
            trials = [(number, "COMPLETE", {"learning_rate": 0.1}, rows) for number in range(5)]
            study: dict[str, Any] = {"workload": workload, "batch_size": int(size)}
            write_shard(tmp_path / release, release=release, trials=trials, **study)
    with dbtool.open(tmp_path) as db:
        for asked, own, against, named in (
            # Not that of a workload to itself.
            ("*", "one", sgd, ("one", adam, sgd)),
            (sgd, "two", f"one:{sgd}", ("two", sgd, f"one:{sgd}")),
            (sgd, None, f"one:{sgd}", ("two", sgd, f"one:{sgd}")),
        ):
            report = db.scaling(asked, against=against, release=own)
            [row] = report.rows("ratios").filter(definition="tradeoff").to_dicts()
            assert (row["release"], row["workload"], row["against"]) == named
            assert row["low"] < 4 < row["high"]
            assert f"times that of {against} (95%: " in " ".join(str(report).split())
        assert "goal" not in report.in_short().columns
        several = db.scaling(adam, goal=[0.3, 0.05], against=sgd, release="one")
        assert several.rows("ratios").filter(definition="tradeoff")["goal"].to_list() == [0.3, 0.05]
        assert several.in_short()["goal"].to_list() == ["0.3", "0.05"]
        mistakes: list[tuple[dict[str, Any], str]] = [
            ({"against": "*", "release": "one"}, "ratios are to one workload, and these are 2: "),
            ({"release": "one"}, "name one with against"),
            ({"against": sgd}, f"one:{sgd}, two:{sgd}"),
            ({"against": f"oen:{sgd}"}, "unknown release 'oen'; closest: one"),
        ]
        for options, sentence in mistakes:
            with pytest.raises(UsageError, match=sentence):
                db.scaling(sgd, **options).rows("ratios")
