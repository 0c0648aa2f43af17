"""Laws of learning rates and across workloads, and what runs cost, against what is planted."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

import dbtool
from dbtool.analysis.costs import StepTime, step_time
from dbtool.analysis.interval import Interval
from dbtool.analysis.law import power_law
from dbtool.analysis.learning_rates import BestRate, Rate, best_rate, fit_laws
from dbtool.analysis.scaling import Settings, scaling_of_searches
from dbtool.analysis.searches import Search
from dbtool.core.errors import UsageError
from tests.support import zhang
from tests.support.made_up import passing, write_shard

SIZES = [2**power for power in range(13)]
SPACE = {"learning_rate": {"min_value": 1e-4, "max_value": 1e2, "scale": "LOG"}}


def search(size: int, best: float) -> Search:
    """Trials over the searched range that take longer the further they are from the best rate."""
    rates = np.geomspace(1e-4, 1e2, 121)
    steps = np.ceil(1000 * np.exp(np.minimum(4 * np.log(rates / best) ** 2, 40)))
    return Search(size, steps - 1, steps, rates, np.full(rates.size, 0.9), SPACE)


def best(size: int, rate: float, name: Rate = "learning_rate") -> BestRate:
    found = best_rate(search(size, rate), name)
    assert found is not None
    return found


def test_the_range_holds_all_that_came_nearly_as_far():
    found = best(64, 0.1)
    # exp(4 x^2) <= 1.25 where |x| <= 0.236, of rates a factor of 10^0.05 apart.
    assert (found.low, found.best, found.high) == pytest.approx((10**-1.1, 0.1, 10**-0.9))
    assert found.trials == 5
    # That divided by 1 - 0.9.
    effective = best(64, 0.1, "effective_learning_rate")
    assert effective.best == pytest.approx(10 * found.best)
    missed = search(64, 0.1)
    missed.steps[:] = math.inf
    assert best_rate(missed, "learning_rate") is None


def test_a_best_rate_at_the_border_is_known_on_one_side():
    high, low = best(64, 60), best(64, 2e-4)
    assert (high.high, low.low) == (math.inf, 0)
    assert high.low > 10
    assert low.high < 1e-3


@pytest.mark.parametrize("best", [0.01, 0.1, 1.0])
def test_the_ends_of_a_grid_are_its_borders(best):
    """Of runs without a search space, where a better rate may lie beyond those tried."""
    rates = np.array([0.01, 0.1, 1.0])
    steps = np.where(rates == best, 100.0, 900.0)
    found = best_rate(Search(64, steps - 1, steps, rates, np.full(3, 0.9), {}), "learning_rate")
    assert found is not None
    assert (found.low == 0, found.best, math.isinf(found.high)) == (best == 0.01, best, best == 1)


def test_the_rate_of_a_batch_size_is_as_sure_as_a_regression_is_in_its_middle():
    """There the interval is that of a mean, Student's quantile times s / sqrt(n)."""
    rng = np.random.default_rng(3)
    sizes = 2.0 ** np.arange(9)
    logs = -5 + 0.5 * np.log(sizes) + 0.2 * rng.normal(size=9)
    points = [BestRate(b, r, r, r, 1) for b, r in zip(sizes, np.exp(logs), strict=True)]
    found = fit_laws(points, level=0.95)
    assert found is not None
    assert found.law == "power"
    slope, start = np.polyfit(np.log(sizes), logs, 1)
    rest = logs - start - slope * np.log(sizes)
    half = student.ppf(0.975, 7) * math.sqrt((rest**2).sum() / 7 / 9)
    told = found.between(16.0)
    assert told.value == pytest.approx(math.exp(logs.mean()), rel=0.005)
    assert told.low == pytest.approx(math.exp(logs.mean() - half), rel=0.03 * half)
    assert told.high == pytest.approx(math.exp(logs.mean() + half), rel=0.03 * half)


@pytest.mark.parametrize("trials", [1, 3])
def test_a_rate_that_was_chosen_is_not_the_best(trials):
    """All trials of a study have the learning rate of the user's own rule, and one momentum."""
    given = []
    for size in SIZES:
        steps = np.full(trials, math.ceil(1e5 * (1 / size + 1 / 256)))
        rates = np.full(trials, 1e-3 * math.sqrt(size))
        given.append(Search(size, steps - 1, steps, rates, np.full(trials, 0.9), {}))
    found = scaling_of_searches(given, Settings(at=700))
    assert found.curve is not None
    assert (found.rates, found.rate_law, found.effective_law) == ([], None, None)
    assert (found.learning_rate, found.momentum) == (None, None)


def test_a_momentum_that_was_chosen_is_not_the_best():
    found = scaling_of_searches([search(size, 0.1) for size in SIZES], Settings(at=64))
    assert found.learning_rate is not None
    assert found.momentum is None


# By law, the best rate of a batch size, the law's parameter, and how near the rate at one is told.
LAWS = [
    ("power", lambda size: 1e-3 * size**0.5, 0.5, 64, 0.1),
    ("saturating", lambda size: 0.5 / (1 + 50 / size), 50, 4096, 0.15),
    ("surge", lambda size: 1 / (math.sqrt(64 / size) + math.sqrt(size / 64)), 64, 64, 0.15),
]


@pytest.mark.parametrize(("name", "rate", "parameter", "size", "near"), LAWS)
def test_a_law_is_found_again(name, rate, parameter, size, near):
    found = fit_laws([best(size, rate(size)) for size in SIZES], level=0.95)
    assert found is not None
    assert found.law == name
    assert found.weights[name] > 0.9 or name != "power"
    assert found.low < parameter < found.high
    assert found.at(size) == pytest.approx(rate(size), rel=near)


def test_three_batch_sizes_are_too_few():
    assert fit_laws([best(size, 0.1 * size) for size in (1, 2, 4)], level=0.95) is None


def published() -> pl.DataFrame:
    rows = [
        (f"{millions}M", millions, size, steps)
        for millions, own in zhang.STEPS.items()
        for size, steps in zip(zhang.SIZES, own, strict=True)
    ]
    return pl.DataFrame(rows, ["workload", "millions", "batch_size", "steps"], orient="row")


def test_a_published_law():
    options: dict[str, Any] = {"curve": "hyperbola", "start": 256, "law": "millions"}
    report = dbtool.scaling_of_table(published(), **options)
    [_, row, _] = report.rows("law").to_dicts()
    assert (row["definition"], row["law"], row["workloads"]) == ("overhead", "millions", 5)
    assert row["factor"] == pytest.approx(93.2, rel=0.005)
    assert row["exponent"] == pytest.approx(0.468, abs=0.001)
    assert row["low"] < 0.468 < row["high"]
    said = " ".join(str(report).split())
    assert "(overhead) is 93.1 times millions to the power 0.468 (95%: 0.409 to 0.528)" in said
    few = published().filter(pl.col("millions") < 200)
    assert "No law in millions" in str(dbtool.scaling_of_table(few, **options))
    elsewhere = published().select("workload", width="millions").unique()
    again = dbtool.scaling_of_table(published(), values=elsewhere, **options | {"law": "width"})
    assert again.rows("law")["factor"][1] == row["factor"]
    with pytest.raises(UsageError, match="has no column height: it needs workload and"):
        dbtool.scaling_of_table(published(), law="height")


def test_intervals_of_a_law_carry_those_of_its_points():
    def law(spread: float, noise: list[float]) -> Interval:
        points = [
            (x, Interval(y, y / spread, y * spread))
            for x, off in zip((1.0, 2.0, 4.0, 8.0), noise, strict=True)
            for y in [3 * x**0.5 * math.exp(off)]
        ]
        found = power_law(points, level=0.95)
        assert found is not None
        return found.exponent

    # Without scatter the half width is that of the points over the root of the sum of squares.
    half = math.log(1.5) / math.sqrt(5 * math.log(2) ** 2)
    exact = law(1.5, [0, 0, 0, 0])
    assert [exact.value, exact.low] == pytest.approx([0.5, 0.5 - half])
    # Without intervals it is Student's with 2 degrees of freedom.
    noise = [0.1, -0.1, -0.1, 0.1]
    scattered = law(1.0, noise)
    assert scattered.value == pytest.approx(0.5)
    half = 4.302653 * math.sqrt(0.04 / 2) / math.sqrt(5 * math.log(2) ** 2)
    assert scattered.high == pytest.approx(0.5 + half)
    assert power_law([(1.0, exact), (2.0, exact)], level=0.95) is None


def test_the_quickest_run_is_the_one_of_calculus():
    rng = np.random.default_rng(0)
    sizes = 2.0 ** np.arange(4, 15)
    steps = 700 * (1 + 1000 / sizes) * np.exp(0.02 * rng.normal(size=11))
    table = pl.DataFrame({"batch_size": sizes, "steps": steps})
    report = dbtool.scaling_of_table(
        table, curve="hyperbola", step_time="50ms + 0.1ms*B", devices=8
    )
    rows = report.rows("costs")
    assert rows["devices"].to_list() == [1, 2, 4, 8]
    for row in rows.iter_rows(named=True):
        # (1 + Bc / B) (a + b B / d) is least where B^2 = Bc a d / b.
        size = math.sqrt(1000 * 500 * row["devices"])
        assert row["batch_size"] == pytest.approx(size, rel=0.04)
        assert row["low"] < size < row["high"]
        hours = 700 * (1 + 1000 / size) * (0.05 + 0.0001 * size / row["devices"]) / 3600
        assert row["hours_low"] < hours < row["hours_high"]
        assert row["device_hours"] == pytest.approx(row["devices"] * row["hours"])
    assert rows["hours"].is_sorted(descending=True)
    assert rows["device_hours"].is_sorted()
    said = " ".join(str(report).split())
    assert "Cheapest run on 1 device: 0.05" in said
    assert "Quickest run on 8 devices: 0.02" in said
    with pytest.raises(UsageError, match="tell it with step_time"):
        dbtool.scaling_of_table(table).rows("costs")


def test_step_times_of_sums_and_files(tmp_path):
    sizes = np.array([1.0, 100.0, 1000.0])
    assert step_time("2s").at(sizes).tolist() == [2, 2, 2]
    assert step_time(".5e-1s + 5.e-2s").at(sizes) == pytest.approx([0.1, 0.1, 0.1])
    assert step_time("50 ms+100us * B").at(sizes) == pytest.approx([0.0501, 0.06, 0.15])
    file = tmp_path / "seconds.csv"
    file.write_text("batch_size,seconds\n200,0.3\n100,0.2\n")
    assert step_time(file).at(np.array([10.0, 150.0, 300.0])) == pytest.approx([0.2, 0.25, 0.4])
    assert StepTime(np.array([4.0]), np.array([2.0])).at(np.array([8.0])).tolist() == [4]
    file.write_text("batch_size,seconds\n200,0.3\n200,0.2\n")
    mistakes = {"5 min": "neither a sum", "1.2.3ms": "neither a sum", "no.csv": "cannot be read"}
    for wrong, sentence in {**mistakes, str(file): "has batch_size 200 twice"}.items():
        with pytest.raises(UsageError, match=sentence):
            step_time(wrong)


def test_metaparameters_are_recommended(tmp_path):
    rng = np.random.default_rng(0)
    space = {
        "learning_rate": {"min_value": 1e-4, "max_value": 10.0, "scale": "LOG_SCALE"},
        "momentum": {"min_value": 0.5, "max_value": 0.999, "scale": "REVERSE_LOG_SCALE"},
    }
    for size in 2 ** np.arange(7):
        best, damping = 0.01 * math.sqrt(size), 0.2 / math.sqrt(size)
        trials = []
        for number in range(60):
            rate, own = best * math.exp(rng.normal()), damping * math.exp(0.7 * rng.normal())
            far = math.log(rate / best) ** 2 + math.log(own / damping) ** 2
            steps = round(1000 * (1 + 16 / size) * math.exp(far))
            own_settings = {"learning_rate": rate, "momentum": 1 - own}
            trials.append((number, "COMPLETE", own_settings, passing(steps)))
        write_shard(
            tmp_path, workload="mnist/fc_1024/momentum", batch_size=int(size), trials=trials,
            search_space=space,
        )  # fmt: skip
    with dbtool.open(tmp_path) as db:
        report = db.scaling("*", at=20)
        assert db.scaling("*", at=7.5).rows("recommended")["batch_size"].to_list() == [7.5]
        [row] = report.rows("recommended").to_dicts()
        rates = report.rows("learning_rates").drop_nulls(["low", "high"])
        told = " ".join(str(report).split())
        assert "At batch size 20: steps 1" in told
        assert "and momentum" in told
        beyond = " ".join(str(db.scaling("*", at=1000)).split())
        with pytest.raises(UsageError, match="name the batch size to tell of"):
            db.scaling("*").rows("recommended")
    assert row["steps_low"] < 1000 * (1 + 16 / 20) < row["steps_high"]
    # The best of 60 trials is near the best of all.
    assert row["steps"] == pytest.approx(1800, rel=0.1)
    assert row["learning_rate"] == pytest.approx(0.01 * math.sqrt(20), rel=0.2)
    assert row["learning_rate_low"] < 0.01 * math.sqrt(20) < row["learning_rate_high"]
    assert row["momentum"] == pytest.approx(1 - 0.2 / math.sqrt(20), abs=0.01)
    assert row["momentum_low"] < row["momentum"] < row["momentum_high"]
    assert "At batch size 1,000, beyond what was measured: steps" in beyond
    # What a law says of a batch size that was searched lies in what that search allows.
    assert (rates["low"] <= rates["fitted"]).all()
    assert (rates["fitted"] <= rates["high"]).all()
