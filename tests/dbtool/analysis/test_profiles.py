"""Performance profiles by hand, and by trying all steps that evaluations leave possible."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.analysis.profiles import performance_profiles, ratios
from dbtool.analysis.searches import Search
from dbtool.core.errors import UsageError

INF = math.inf
MNIST = ("made-up", None, "mnist", "fc", "val_classification_error", 0.1)
FASHION = ("made-up", None, "fashion_mnist", "fc", "val_classification_error", 0.2)


def search(batch_size: int, steps: float, *, trials: int = 8, after: float | None = None) -> Search:
    """Trials that all came to the same, evaluated at every step unless told otherwise."""
    nothing = np.full(trials, math.nan)
    last = steps - 1 if after is None else after
    return Search(batch_size, np.full(trials, last), np.full(trials, steps), nothing, nothing, {})


TASKS = {
    MNIST: {
        "sgd": [search(8, 100), search(16, 60), search(32, 90, after=40), search(64, 5)],
        "adam": [search(8, 50), search(16, 60), search(32, 60, after=30)],
    },
    FASHION: {
        "sgd": [search(8, INF, after=500), search(32, 10), search(64, 10, trials=1)],
        "adam": [search(8, 300), search(64, 20)],
    },
}


def test_profiles_by_hand():
    factors = (1.0, 1.5, 2.0, 10.0)
    found = performance_profiles(TASKS)
    found = found.filter(found["factor"].is_in(factors))
    # Of mnist 8, 16 and 32 and fashion_mnist 8 the ratios are 2, 1, 1.5, inf and 1, 1, 1, 1.
    columns = ("optimizer", "factor", "share", "reached_share", "cells", "k")
    assert found.select(columns).rows() == [
        ("sgd", 1.0, 0.25, 0.75, 4, 2),
        ("sgd", 1.5, 0.5, 0.75, 4, 2),
        ("sgd", 2.0, 0.75, 0.75, 4, 2),
        ("sgd", 10.0, 0.75, 0.75, 4, 2),
        *[("adam", factor, 1.0, 1.0, 4, 2) for factor in factors],
    ]
    # At 32 SGD took 41 to 90 steps and Adam 31 to 60: ratios from 1 to 90/31 and to 60/41. At
    # fashion_mnist 8 SGD may have got there at 501, 1.67 times the steps of Adam.
    bounds = found.select("share_low", "share_high").rows()
    assert bounds[:4] == [(0.25, 0.5), (0.25, 0.5), (0.5, 1.0), (0.75, 1.0)]
    assert bounds[4:] == [(0.75, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]


def test_only_cells_with_enough_trials_of_all_count():
    assert set(performance_profiles(TASKS, k=1)["cells"]) == {5}
    assert set(performance_profiles(TASKS, k=2)["cells"]) == {4}
    tasks = {MNIST: {**TASKS[MNIST], "momentum": [search(8, 10)]}}
    assert set(performance_profiles(tasks)["cells"]) == {1}
    apart = {MNIST: {"sgd": [search(8, 10)], "adam": [search(16, 10)]}}
    assert performance_profiles(apart).is_empty()
    with pytest.raises(UsageError, match="sgd has no other optimizer to be compared with"):
        performance_profiles({MNIST: {"sgd": [search(8, 10)]}})


INTERVAL = st.sampled_from([(1.0, 2.0), (2.0, 3.0), (1.0, 4.0), (3.0, INF), (INF, INF)])


@given(st.lists(INTERVAL, min_size=2, max_size=3))
def test_ratios_against_all_steps_in_between(cell):
    lower, upper = np.array(cell).T
    plain, least, most = ratios(lower[None], upper[None])
    steps = [[each for each in (1, 2, 3, 4, INF) if a <= each <= b] for a, b in cell]
    possible = np.array(
        [[each if each == INF else each / min(row) for each in row] for row in product(*steps)]
    )
    assert least[0] == pytest.approx(possible.min(axis=0))
    assert most[0] == pytest.approx(possible.max(axis=0))
    assert (least <= plain).all()
    assert (plain <= most).all()
