"""Ratios of critical batch sizes, by hand and against truths that are known."""

import math

import numpy as np
import pytest

import dbtool
from dbtool.analysis.critical import StepsAt, fit_curve
from dbtool.analysis.interval import Interval, ratio
from dbtool.core.errors import UsageError
from tests.support.made_up import passing, write_shard


def identified(value: float, low: float, high: float) -> Interval:
    return Interval(value, low, high)


def test_ratios_by_hand():
    # In octaves: 3 - 1 with distances 3 and 4 to the ends below, 6 and 8 above: 5 and 10.
    found = ratio(identified(8, 1, 512), identified(2, 2**-7, 32))
    assert found.value == 4
    assert math.log2(found.low) == pytest.approx(2 - 5)
    assert math.log2(found.high) == pytest.approx(2 + 10)
    same = identified(8, 4, 16)
    assert ratio(same, same).value == 1


def test_ratios_of_bounds():
    beyond = Estimate(None, 100, math.inf, "lower_bound")
    found = ratio(beyond, identified(8, 4, 16))
    assert (found.value, found.low, found.high) == (None, 100 / 16, math.inf)
    found = ratio(identified(8, 4, 16), beyond)
    assert (found.value, found.low, found.high) == (None, 0, 16 / 100)
    unknown = Interval(None, 0, math.inf)
    assert ratio(unknown, unknown) == ratio(None, beyond)


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


def test_a_report_compares_with_a_workload(tmp_path):
    for optimizer, critical in (("sgd", 16), ("adam", 64)):
        for size in 4 ** np.arange(6):
            rows = passing(round(100 * (1 + critical / size)))
            trials = [(number, "COMPLETE", {"learning_rate": 0.1}, rows) for number in range(5)]
            workload = f"mnist/fc_64_64_64/{optimizer}"
            write_shard(tmp_path, workload=workload, batch_size=int(size), trials=trials)
    with dbtool.open(tmp_path) as db:
        report = db.scaling("*", against="mnist/fc_64_64_64/sgd")
        [adam, _] = report.rows("ratios").filter(definition="tradeoff").to_dicts()
        assert adam["low"] < 4 < adam["high"]
        assert "times that of mnist/fc_64_64_64/sgd (95%: " in " ".join(str(report).split())
        several = db.scaling("*adam", goal=[0.3, 0.05], against="mnist/fc_64_64_64/sgd")
        assert several.rows("ratios").filter(definition="tradeoff")["goal"].to_list() == [0.3, 0.05]
        assert several.in_short()["goal"].to_list() == ["0.3", "0.05"]
        assert "goal" not in report.in_short().columns
        with pytest.raises(UsageError, match="ratios are to one workload, and these are 2: mnist"):
            db.scaling("*", against="*")
        with pytest.raises(UsageError, match="name one with against"):
            db.scaling("*").rows("ratios")
