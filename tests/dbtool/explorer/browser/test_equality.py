"""Random states: every number on the page is the one that dbtool answers."""

import math
import random
from collections.abc import Iterator
from typing import Any

import pytest

import dbtool
from dbtool.database import Database
from tests.support.explorer_browser import (
    MEASURED,
    Explorer,
    Opener,
    Row,
    needs_explorer_browser,
    same,
    write_page,
)

pytestmark = needs_explorer_browser
CARDS = {"steps": "steps", "critical": "critical", "learning-rates": "learning_rates"}
EVERY = 10**6
NAMES = ("trial_id", "learning_rate", "momentum")


def random_states(db: Database, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """What may be asked: workloads, a metric or their own, a goal or their own, trials or all."""
    draw = random.Random(seed)
    held = db.workloads().rows(named=True)
    for _ in range(count):
        chosen = draw.sample(held, draw.choice([1, 1, 1, 2, 3]))
        # Of a metric that a workload was not measured by, the page has no curve.
        metrics = set.intersection(*(metrics_of(row["metric"]) for row in chosen))
        metric = draw.choice([None, None, *sorted(metrics)])
        goal = None
        if metric is not None or draw.random() < 0.6:
            goal = float(f"{math.exp(draw.uniform(math.log(0.008), math.log(0.9))):.3g}")
        yield {
            "workload": [f"{row['release']}:{row['workload']}" for row in chosen],
            "metric": metric,
            "goal": goal,
            "trials": draw.choice([None, None, 1, 2, draw.randint(3, 40), draw.randint(3, 140)]),
        }


def metrics_of(own: str) -> set[str]:
    kinds = {"cross_entropy_error", own.partition("_")[2]}
    return {f"{split}_{kind}" for split in ("train", "val", "test") for kind in kinds}


def answers(db: Database, state: dict[str, Any]) -> dict[str, list[Row]]:
    """The rows of each workload in turn, by their kind; those of steps with the fastest trial."""
    found: dict[str, list[Row]] = {kind: [] for kind in CARDS.values()}
    for key in state["workload"]:
        release, _, workload = key.partition(":")
        asked = {"goal": state["goal"], "metric": state["metric"], "release": release}
        scaling = db.scaling(workload, trials=state["trials"], **asked)
        rows = {kind: scaling.rows(kind).rows(named=True) for kind in found}
        fewest = db.steps_to_result(workload, trials=EVERY, **asked).rows(named=True)
        fastest = {row["batch_size"]: row for row in fewest}
        for row in rows["steps"]:
            first = fastest[row["batch_size"]]
            row |= {"fewest_steps": first["steps"], **{name: first[name] for name in NAMES}}
        for kind, more in rows.items():
            found[kind] += more
    return found


def compare(shown: list[Row], expected: list[Row]) -> None:
    assert len(shown) == len(expected)
    for row, own in zip(shown, expected, strict=True):
        for name, value in own.items():
            told = None if isinstance(value, float) and math.isnan(value) else value
            assert same(row[name], told), (name, row, own)


def check(explorer: Explorer, db: Database, state: dict[str, Any]) -> None:
    """That all tables of a state have dbtool's numbers."""
    explorer.go(**state)
    present = [card for card in CARDS if explorer.page.locator(f"#{card} .table").count()]
    for card in present:
        if not explorer.page.locator(f"#{card} .rows").count():
            explorer.unfold(card)
    tables = dict(zip(present, explorer.tables(*present), strict=True))
    expected = answers(db, state)
    for card, kind in CARDS.items():
        compare(tables.get(card, []), expected[kind])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_random_states_have_the_numbers_of_dbtool(explorer, bundled, seed):
    for state in random_states(bundled, 20, seed):
        check(explorer, bundled, state)


@pytest.mark.slow
def test_states_of_searches_to_the_end_of_a_budget_have_them_too(tab: Opener, tmp_path):
    explorer = tab(write_page(MEASURED, tmp_path / "explorer.html"))
    with dbtool.open(MEASURED) as db:
        for state in random_states(db, 20, 7):
            check(explorer, db, state)
