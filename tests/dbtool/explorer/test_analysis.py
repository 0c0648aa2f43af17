"""The page's analysis against dbtool's own, number by number, over made-up and measured states."""

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dbtool
from dbtool.analysis.answers import Answer, answers_of_trials
from dbtool.analysis.critical import StepsAt
from dbtool.analysis.scaling import Settings, scaling_of_steps
from dbtool.database import Database
from tests.support.explorer_analysis import (
    answers_of_page,
    as_told,
    differences,
    improvements,
    needs_node,
)

pytestmark = needs_node

DATA = Path(__file__).parents[3] / "data"
METRICS = (
    "val_cross_entropy_error",
    "val_classification_error",
    "val_average_precision",
    "train_cross_entropy_error",
    "test_classification_error",
)
TRIAL = ("batch_size", "trial_id", "status", "ordinal", "learning_rate", "momentum")


class MadeUp:
    """A workload of made-up trials, of which some diverge, are dropped or are never evaluated."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.metric = rng.choice(["val_cross_entropy_error", "val_average_precision"])
        self.maximize = self.metric == "val_average_precision"
        self.facts: list[Any] = []
        self.trials: list[Any] = []
        self.curves: list[Any] = []
        self.critical, self.noise_scale = 2 ** rng.uniform(0, 16), 2 ** rng.uniform(0, 14)
        self.fewest, self.bend = 2 ** rng.uniform(2, 12), rng.choice([0.6, 1, 1, 2])
        self.interval, self.first = rng.choice([1, 5, 20, 100, 1000]), rng.choice([0, 1])
        self.has_momentum = rng.random() < 0.5
        self.diverge, self.drop = rng.choice([0, 0.1, 0.5, 0.7]), rng.choice([0, 0, 0.5])
        windowed, most = rng.choice([0, 0, 0, 0.6]), rng.choice([3, 6, 12, 30])
        sizes = rng.sample(range(18), rng.choice([1, 2, 3, 4, 5, 6, 8, 11, 17]))
        for size in sorted(2**octave for octave in sizes):
            space = {"min_value": 1e-4, "max_value": 10.0, "scale": "LOG"}
            self.facts.append(
                {
                    "batch_size": size,
                    "windowed": rng.random() < windowed,
                    "search_space": {"learning_rate": space} if rng.random() < 0.8 else {},
                }
            )
            self._study(size, max(1, most + rng.choice([0, 0, 3, -4])))

    def _study(self, size: int, trials: int) -> None:
        rng = self.rng
        needed = self.fewest * (1 + (self.critical / size) ** self.bend) ** (1 / self.bend)
        needed *= math.exp(rng.gauss(0, rng.choice([0.01, 0.1, 0.4])))
        optimum = 0.3 / (1 + self.noise_scale / size)
        budget = needed * rng.choice([1.02, 2, 4]) + self.interval
        every = max(self.interval, int(budget / 200))
        for number in range(trials):
            rate = optimum * math.exp(rng.gauss(0, rng.choice([0.6, 3])))
            momentum = 1 - 10 ** rng.uniform(-3, 0) if self.has_momentum else None
            status = "COMPLETE"
            if rng.random() < self.diverge:
                status = "INFEASIBLE"
            elif rng.random() < self.drop:
                status = "INCOMPLETE"
            share = {"COMPLETE": 1, "INFEASIBLE": 0.3, "INCOMPLETE": rng.uniform(0.2, 1)}[status]
            slowed = math.exp(abs(rng.gauss(0, 0.05)) + 0.3 * abs(math.log(rate / optimum)))
            steps = range(self.first * every, int(budget * share) + 1, every)
            values = [self._value(step / needed / slowed) for step in steps]
            if rng.random() < 0.02:
                steps, values = range(0), []
            ordinal = None if status == "INFEASIBLE" else number
            self.trials.append((size, number, status, ordinal, rate, momentum))
            self.curves.append((size, number, status, list(steps), values))

    def _value(self, progress: float) -> float | None:
        rng = self.rng
        if rng.random() < 0.01:
            return rng.choice([None, math.nan, math.inf])
        value = round(math.exp(-2.3 * progress) + rng.choice([0, 0.02]) * rng.gauss(0, 1), 3)
        return 1 - value if self.maximize else value

    def goal(self) -> float:
        goal = self.rng.choice([round(math.exp(-self.rng.uniform(0, 5)), 2), 0.1, 1.1, -5.0])
        return 1 - goal if self.maximize else goal

    def tables(self) -> dict[str, Any]:
        return {
            "facts": self.facts,
            "trials": {n: [row[at] for row in self.trials] for at, n in enumerate(TRIAL)},
            "improvements": {self.metric: improvements(self.curves, maximize=self.maximize)},
        }

    def crossings(self, goal: float, *, inclusive: bool) -> pl.DataFrame:
        """The rows of the question `crossings`, from its definition."""
        facts = {each["batch_size"]: each for each in self.facts}
        rows = []
        for (size, number, status, steps, values), trial in zip(
            self.curves, self.trials, strict=True
        ):
            pairs = [pair for pair in zip(steps, values, strict=True) if pair[1] is not None]
            past = [step for step, value in pairs if self._is_past(value, goal, inclusive)]
            first = past[0] if past and status != "INFEASIBLE" else None
            missed = [step for step, _ in pairs if first is None or step < first]
            search = {"origin": {"batch_size": 1}} if facts[size]["windowed"] else {}
            rows.append(
                {
                    "release": "r",
                    "workload": "w",
                    "metric": self.metric,
                    "goal": goal,
                    "batch_size": size,
                    "trial_id": number,
                    "status": status,
                    "after": max(missed, default=0),
                    "steps": first,
                    "learning_rate": trial[4],
                    "momentum": trial[5],
                    "search_space": json.dumps(facts[size]["search_space"]),
                    "search": json.dumps(search),
                }
            )
        types = {"steps": pl.Int64, "momentum": pl.Float64, "goal": pl.Float64}
        return pl.DataFrame(rows, schema_overrides=types)

    def _is_past(self, value: float, goal: float, inclusive: bool) -> bool:
        better = goal < value < math.inf if self.maximize else value < goal
        return better or (inclusive and value == goal)


def _state(settings: Settings, **more: Any) -> dict[str, Any]:
    named = ("level", "overhead", "start", "trials")
    return {"settings": {name: getattr(settings, name) for name in named}, **more}


def _compare(tables: list[Any], states: list[Any], answers: list[Any], folder: Path) -> None:
    found = answers_of_page(tables, states, folder)
    for told in found:
        del told["lines"]
    wrong = [
        f"state {number}{each}"
        for number, (told, answer) in enumerate(zip(found, answers, strict=True))
        for each in differences(told, answer)
    ]
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong[:20]])


@pytest.mark.parametrize(
    ("seed", "workloads"),
    [(0, 8), *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in (1, 2))],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_made_up_states(seed: int, workloads: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    tables, states, answers = [], [], []
    for number in range(workloads):
        made_up = MadeUp(1000 * seed + number)
        tables.append(made_up.tables())
        counts = [
            sum(row[0] == each["batch_size"] for row in made_up.trials) for each in made_up.facts
        ]
        for k in (None, rng.choice([1, 3, 5]), rng.randint(1, max(counts))):
            settings = Settings(
                level=rng.choice([0.95, 0.95, 0.68]),
                overhead=rng.choice([0.2, 0.5]),
                start=rng.choice([None, None, 256.0]),
                trials=None if k is None else min(k, max(counts)),
            )
            goal, inclusive = made_up.goal(), rng.random() < 0.3
            (answer,) = answers_of_trials(made_up.crossings(goal, inclusive=inclusive), settings)
            answers.append(as_told(answer, settings))
            metric = made_up.metric
            states.append(
                _state(settings, workload=number, metric=metric, goal=goal, inclusive=inclusive)
            )
    _compare(tables, states, answers, tmp_path)


def test_tables_of_steps(tmp_path: Path) -> None:
    rng = random.Random(3)
    states, answers = [], []
    for count in (1, 2, 3, 4, 5, 8, 12, 40):
        points = [
            (float(size), round(2 ** rng.uniform(3, 5) * (1 + 100 / size), 2))
            for size in rng.sample(range(1, 4000), count)
        ]
        scaling = scaling_of_steps([StepsAt(size, at, at) for size, at in points], Settings())
        answers.append(as_told(Answer(None, None, None, None, scaling), Settings()))
        steps = [{"batchSize": size, "lower": at, "upper": at} for size, at in points]
        states.append(_state(Settings(), steps=steps))
    _compare([], states, answers, tmp_path)


@pytest.fixture(scope="module", params=["measured", "replication"])
def measured(request: pytest.FixtureRequest) -> Iterator[Database]:
    with dbtool.open(DATA / request.param) as db:
        yield db


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_measured_states(measured: Database, tmp_path: Path) -> None:
    rng = random.Random(4)
    tables: list[Any] = []
    states, answers = [], []
    for own in measured.workloads().iter_rows(named=True):
        made, values = _tables_of(measured, own["workload"])
        tables.append(made)
        for _ in range(5):
            metric = rng.choice([*values, own["metric"]])
            ordered = sorted(values[metric])
            place = rng.choice([rng.random(), rng.random() ** 4])
            goal = rng.choice(
                [ordered[int(place * len(ordered))], ordered[0] - 1, ordered[-1] + 1]
                + [own["goal"]] * (metric == own["metric"])
            )
            most = max(made["trials"]["batch_size"].count(f["batch_size"]) for f in made["facts"])
            settings = Settings(trials=rng.choice([None, 1, 5, most, rng.randint(1, most)]))
            found = measured.scaling(
                own["workload"], trials=settings.trials, goal=goal, metric=metric
            )
            answers.append(as_told(found.answers[0], settings))
            states.append(
                _state(
                    settings,
                    workload=len(tables) - 1,
                    metric=metric,
                    goal=goal,
                    inclusive=own["goal_inclusive"],
                )
            )
    _compare(tables, states, answers, tmp_path)


def _tables_of(db: Database, workload: str) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """What the page has of a workload, and the finite values of each metric."""
    of_workload = "WHERE workload = $workload ORDER BY batch_size"
    studies = db.sql(f"FROM studies {of_workload}", workload=workload).polars()
    trials = db.sql(f"FROM trials {of_workload}, trial_id", workload=workload).polars()
    rows = db.sql(f"FROM measurements {of_workload}, trial_id, step", workload=workload).polars()
    found, values = {}, {}
    for metric in METRICS:
        measured = rows.drop_nulls(metric)
        if measured.is_empty():
            continue
        curves = [
            (*key, of["step"].to_list(), of[metric].to_list())
            for key, of in measured.group_by(
                "batch_size", "trial_id", "status", maintain_order=True
            )
        ]
        found[metric] = improvements(curves, maximize=metric.endswith("precision"))
        values[metric] = measured.filter(pl.col(metric).is_finite())[metric].to_list()
    facts = [
        {
            "batch_size": size,
            "search_space": json.loads(space or "{}"),
            "windowed": json.loads(search or "{}").get("origin") is not None,
        }
        for size, space, search in studies.select(
            "batch_size", "search_space", "search"
        ).iter_rows()
    ]
    columns = {name: trials[name].to_list() for name in TRIAL}
    return {"facts": facts, "trials": columns, "improvements": found}, values


def test_lines_of_perfect_scaling(tmp_path: Path) -> None:
    rng = random.Random(5)
    states, rows = [], []
    for number in range(60):
        sizes = rng.sample([2**octave for octave in range(14)], rng.choice([1, 2, 3, 5, 9, 13]))
        shape = rng.choice([0.0, 100.0, 2000.0])
        for size in sorted(sizes):
            steps = round(
                2 ** rng.gauss(8, 0.1) * (1 + shape / size) * 1e4 / (1e4 if shape else size), 3
            )
            rows.append((number, size, None if rng.random() < 0.1 else steps))
        known = [(size, steps) for at, size, steps in rows if at == number]
        points = [
            {"batchSize": size, "lower": 1, "upper": math.inf if steps is None else steps}
            for size, steps in known
        ]
        states.append(_state(Settings(), steps=points))
    found = [told["lines"] for told in answers_of_page([], states, tmp_path)]
    names = ("panel_order", "x", "steps")
    points_table = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        series_order=0, release_order=0, perfect=pl.lit(None, pl.Float64)
    )
    with dbtool.open(DATA / "measured") as db:
        expected = db.sql(
            "WITH points AS (FROM own) FROM fitted_scaling('points', 'fitted')",
            tables={"own": points_table},
        ).polars()
    for row in expected.iter_rows(named=True):
        line = found[row["panel_order"]]["fitted"]
        for name, key in (
            ("perfect", "examples"),
            ("perfect_low", "low"),
            ("perfect_high", "high"),
        ):
            told = None if line is None or line[key] is None else line[key] / row["x"]
            assert told == (None if row[name] is None else pytest.approx(row[name], rel=1e-9)), row
    for number, lines in enumerate(found):
        first = next((size * steps for at, size, steps in rows if at == number and steps), None)
        assert (lines["first"] and lines["first"]["examples"]) == pytest.approx(first)
