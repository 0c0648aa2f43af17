"""Time and money, laws across workloads and recommended rates, against what is planted."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import dbtool
from dbtool.analysis.costs import StepTime, step_time
from dbtool.analysis.interval import Interval
from dbtool.analysis.law import power_law
from dbtool.core.errors import UsageError
from tests.support import zhang
from tests.support.made_up import passing, write_shard


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
