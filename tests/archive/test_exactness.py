"""Answers in SQL from imported archives against the rules in plain Python, on values that trap.

Values equal to the goal, ties in step, INCOMPLETE trials that reach the goal first, steps that
repeat, and values that are missing or not finite, of metrics that fall and that rise.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dbtool
from dbtool.database import Database
from tests.support import rules
from tests.support.archives import WORKLOAD, imported, study_json, trial, write_folder
from tests.support.rules import StudyFrames

STATUSES = ("COMPLETE", "COMPLETE", "INCOMPLETE", "INFEASIBLE")
# Few values and steps, so that values tie, steps repeat and files are unsorted.
VALUES = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, 0.1, 0.2, 0.3, 0.30000001])
CURVES = st.lists(st.tuples(st.integers(0, 6), VALUES), max_size=8)
TRIALS = st.lists(st.tuples(st.sampled_from(STATUSES), CURVES), min_size=1, max_size=4)
# Many at once, as one query answers for all.
STUDIES = st.lists(TRIALS, min_size=10, max_size=20)
GOALS = (0.0, 0.1, 0.25, 0.4, 1.0)
BUDGETS = (None, 0, 3)
# How many COMPLETE trials of a study count.
COUNTS = (100, 2)

Trials: TypeAlias = "list[tuple[str, list[tuple[int, float | None]]]]"


def write_studies(folder: Path, metric: str, studies: list[Trials]) -> Path:
    """A study a batch size from 1 on, with values of a test metric."""
    files = {}
    for batch_size, trials in enumerate(studies, 1):
        study = f"{WORKLOAD}/{batch_size}"
        files[f"{study}/study.json"] = study_json(batch_size, train_steps=6)
        for trial_id, (status, curve) in enumerate(trials, 1):
            texts = [(step, "" if value is None else repr(value)) for step, value in curve]
            lines = [f"step,test/{metric}"]
            lines += [f"{step},{text}" for step, text in texts]
            files |= trial(trial_id, "\n".join(lines) + "\n", study, status=status)
    path: Path = write_folder(folder, files)
    return path


def answers(db: Database, metric: str, count: int) -> Iterator[object]:
    """What a database says of all studies, for every goal and then for every budget."""
    for goal in GOALS:
        found = db.steps("*", metric=f"test_{metric}", goal=goal, trials=count).sort("batch_size")
        yield found.select("steps", "trial_id").rows()
    for most in BUDGETS:
        best = db.best("*", metric=f"test_{metric}", most_steps=most, trials=count)
        yield best.sort("batch_size").select("value", "step", "trial_id").rows()


def expected(studies: list[StudyFrames], metric: str, count: int) -> Iterator[object]:
    """The same by the rules."""
    for goal in GOALS:
        yield [
            rules.steps_to_result(study, f"test/{metric}", str(goal), first=count) or (None, None)
            for study in studies
        ]
    for most in BUDGETS:
        best = (
            rules.best_row(study, f"test/{metric}", first=count, most_steps=most)
            for study in studies
        )
        yield [(float(row[0]), *row[1:]) if row else (None, None, None) for row in best]


@pytest.mark.parametrize(
    "metric", ["average_precision", pytest.param("classification_error", marks=pytest.mark.slow)]
)
@settings(max_examples=2)
@given(studies=STUDIES)
def test_answers_about_odd_values(tmp_path_factory, metric, studies):
    folder = tmp_path_factory.mktemp("odd")
    root = write_studies(folder, metric, studies)
    imported(root, folder / "db")
    frames = sorted(rules.read_archive(root), key=lambda study: int(study.study["batch_size"]))
    with dbtool.open(folder / "db") as db:
        for count in COUNTS:
            assert list(answers(db, metric, count)) == list(expected(frames, metric, count))
