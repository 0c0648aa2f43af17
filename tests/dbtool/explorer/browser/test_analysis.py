"""The page's analysis against dbtool's own, row by row, in states of measured trials."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dbtool
from dbtool.analysis.answers import answers_of_trials
from dbtool.analysis.critical import LEAST_SCALE, StepsAt
from dbtool.analysis.scaling import Scaling, Settings
from dbtool.analysis.searches import Search
from dbtool.core.resources import query
from dbtool.database import Database
from dbtool.report.scaling import ScalingReport, Trials
from dbtool.store.questions import Question
from tests.support.explorer import write_page
from tests.support.explorer_browser import BUNDLED, Explorer, agree, needs_explorer_browser, rows_of
from tests.support.made_up import write_shard

pytestmark = [needs_explorer_browser, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

CARDS = {
    "Steps to result": "steps",
    "Critical batch size": "critical",
    "Best learning rates": "learning_rates",
}
COPIED = "mnist/fc_128_128_128/nesterov_momentum"
SEEDS = (0, 7, 11, 14, 31, 52, 167, 177, 201)
"""Of states that meet all of the conditions below."""
MORE_SEEDS = tuple({*range(29)} - {0, 7, 8, 11, 14})


@dataclass(frozen=True)
class Source:
    """A workload of a release, and the page that has it."""

    db: Database = field(repr=False)
    page: Path
    own: dict[str, Any]

    @cached_property
    def trials(self) -> pl.DataFrame:
        return self._rows("trials")

    @cached_property
    def evaluations(self) -> dict[str, pl.DataFrame]:
        """By metric, those of other metrics alone as nulls."""
        curves = self._rows("curves")
        keys = ["batch_size", "trial_id", "step"]
        return {
            each.name: curves.select(*keys, value=each)
            for each in curves.drop(keys)
            if each.count()
        }

    def _rows(self, name: str) -> pl.DataFrame:
        key = {name: self.own[name] for name in ("release", "workload")}
        return self.db.result(Question(query(name, "explorer"), key, measurements=True)).polars()


@dataclass(frozen=True)
class State:
    """What is asked of a workload, with what dbtool answers."""

    source: Source
    metric: str
    goal: float
    k: int | None
    crossings: pl.DataFrame = field(repr=False)

    @cached_property
    def report(self) -> ScalingReport:
        settings = Settings(trials=self.k)
        # The rows that are compared need neither moments nor the workloads' names.
        none = pl.DataFrame()
        trials = Trials(self.source.db, self.crossings, none, none, none)
        return ScalingReport(answers_of_trials(self.crossings, settings), settings, trials)

    @property
    def searches(self) -> Sequence[Search]:
        return self.report.answers[0].searches

    @property
    def scaling(self) -> Scaling:
        return self.report.answers[0].scaling

    @property
    def values(self) -> pl.Series:
        """Every value that was measured."""
        return self.source.evaluations[self.metric]["value"]

    @property
    def inclusive(self) -> bool:
        return bool(self.source.own["goal_inclusive"])


def drawn(sources: Sequence[Sequence[Source]], seed: int) -> State:
    """A state of measured trials: mostly at a goal that some of them reached."""
    rng = random.Random(seed)
    source = rng.choice(rng.choice(sources))
    own = source.own
    metric = rng.choice([own["metric"], rng.choice([*source.evaluations])])
    is_maximized = metric.endswith("precision")
    values = source.evaluations[metric].filter(pl.col("value").is_finite())
    best = values.group_by("batch_size", "trial_id").agg(
        pl.max("value") if is_maximized else pl.min("value")
    )
    ordered = sorted(best["value"], reverse=is_maximized)
    goal = rng.choice(
        [
            *(ordered[int(rng.random() ** 2 * len(ordered))] for _ in range(6)),
            rng.choice(values["value"].to_list()),
            rng.choice([min(values["value"]) - 1, max(values["value"]) + 1]),
            *([own["goal"]] * 2 if metric == own["metric"] else ()),
        ]
    )
    most = int(max(source.trials["batch_size"].value_counts()["count"]))
    k = rng.choice([None, None, None, 1, rng.randint(1, most), most + 1])
    crossings = source.db.crossings(own["workload"], goal=goal, metric=metric)
    return State(source, metric, goal, k, crossings)


def _any_step(is_met: Callable[[StepsAt], bool]) -> Callable[[State], bool]:
    return lambda s: any(map(is_met, s.scaling.steps))


def _verdict(definition: str, verdict: str) -> Callable[[State], bool]:
    return lambda s: getattr(getattr(s.scaling, definition), "verdict", None) == verdict


def _law(name: str) -> Callable[[State], bool]:
    return lambda s: getattr(s.scaling.rate_law, "law", None) == name


def _of_curve(is_met: Callable[[Any], bool]) -> Callable[[State], bool]:
    return lambda s: bool(s.scaling.curve) and is_met(s.scaling.curve)


def _any_search(is_met: Callable[[pl.DataFrame], bool]) -> Callable[[State], bool]:
    return lambda s: any(is_met(rows) for _, rows in s.crossings.group_by("batch_size"))


def _dropped_first(rows: pl.DataFrame) -> bool:
    """Whether a trial was dropped before the evaluation that the first to the goal missed last."""
    first = rows.filter(pl.col("steps") == pl.col("steps").min())["after"]
    dropped = rows.filter(status="INCOMPLETE")["after"]
    return len(first) > 0 and len(dropped) > 0 and dropped.min() < first[0]


CONDITIONS: dict[str, Callable[[State], bool]] = {
    # goal.ts, improvements.ts: the macro reached, and the question crossings.
    "a higher value is better": lambda s: s.metric.endswith("precision"),
    "a value equal to an inclusive goal": lambda s: s.inclusive and s.goal in s.values,
    "a value equal to another goal": lambda s: not s.inclusive and s.goal in s.values,
    "a NaN that was measured": lambda s: s.values.is_nan().any(),
    "an infinity that was measured": lambda s: s.values.is_infinite().any(),
    "evaluations of another metric alone": lambda s: s.values.null_count() > 0,
    "a trial that was never evaluated": lambda s: (
        (
            s.source.trials.join(s.source.evaluations[s.metric], on="trial_id", how="anti")[
                "ordinal"
            ]
        ).count()
        > 0
    ),
    # searches.ts, bestOfK.ts.
    "dropped before the first to the goal": _any_search(_dropped_first),
    "dropped first where none came to the goal": _any_search(
        lambda rows: bool(
            rows["steps"].is_null().all()
            and rows["status"][0] == "INCOMPLETE"
            and rows["after"][0] < rows["after"].max()
        )
    ),
    "a search with too few trials": lambda s: bool(s.scaling.left_out and s.scaling.steps),
    "no search with as many trials": lambda s: not s.scaling.steps,
    "most searches of few trials, one of fewer": lambda s: (
        s.k is None
        and bool(s.scaling.left_out)
        and 1 < (s.scaling.trials or 0) < 5 <= max(each.trials for each in s.searches)
    ),
    "most searches of one trial": lambda s: s.k is None and s.scaling.trials == 1,
    "a search of few trials beside others": lambda s: (
        s.k is None
        and any(each.trials < 5 for each in s.searches)
        and any(each.trials >= 5 for each in s.searches)
    ),
    "a band without a lower end": lambda s: s.report.rows("steps")["low"].null_count() > 0,
    "a band without an upper end": lambda s: s.report.rows("steps")["high"].null_count() > 0,
    "a band with both ends": lambda s: (
        s.report.rows("steps").drop_nulls(["low", "high"]).height > 0
    ),
    # scaling.ts.
    "most trials diverge": lambda s: bool(s.scaling.diverged),
    "searches of the whole space beside windows": lambda s: bool(
        s.scaling.wide and s.scaling.windowed
    ),
    "no windows": lambda s: not s.scaling.windowed,
    # critical.ts, censored.ts, profile.ts.
    "nothing known of steps": _any_step(lambda at: at.lower == 0 and math.isinf(at.upper)),
    "steps without a lower bound": _any_step(lambda at: at.lower == 0 < at.upper < math.inf),
    "steps without an upper bound": _any_step(lambda at: at.lower > 0 and math.isinf(at.upper)),
    "reached before the first step": _any_step(lambda at: at.upper == 0),
    "too few batch sizes reached": lambda s: (
        len(s.scaling.reached) in {1, 2, 3} and s.scaling.curve is None
    ),
    "as many reached as a curve takes": lambda s: (
        len([at for at in s.scaling.steps if 0 < at.upper < math.inf]) == 4
    ),
    "a slow bend": _of_curve(lambda curve: curve.bend.value < 1),
    "a sharp bend": _of_curve(lambda curve: curve.bend.value > 1),
    "all bends allowed": _of_curve(lambda curve: len(curve.allowed) == 15),
    "some bends not allowed": _of_curve(lambda curve: len(curve.allowed) < 15),
    "bends of a finer grid": _of_curve(
        lambda curve: curve.allowed[1].bend < 1.2 * curve.allowed[0].bend
    ),
    "the least noise": _of_curve(lambda curve: curve.scale < LEAST_SCALE * 1.000001),
    "more noise": _of_curve(lambda curve: curve.scale > LEAST_SCALE * 1.01),
    "no least critical batch size": _of_curve(lambda curve: any(e.low == 0 for e in curve.allowed)),
    "no largest one": _of_curve(
        lambda curve: any(e.low > 0 and e.high == math.inf for e in curve.allowed)
    ),
    "both ends": _of_curve(lambda curve: any(0 < e.low < e.high < math.inf for e in curve.allowed)),
    **{
        f"{definition} {verdict}": _verdict(definition, verdict)
        for definition in ("tradeoff", "overhead", "speedup")
        for verdict in ("identified", "lower_bound", "upper_bound", "not_identified")
    },
    # learningRates.ts.
    "no search space": lambda s: not all(e.search_space for e in s.searches),
    "rates down to the border": lambda s: any(e.low == 0 for e in s.scaling.rates),
    "rates up to the border": lambda s: any(math.isinf(e.high) for e in s.scaling.rates),
    "too few rates for a law": lambda s: bool(s.scaling.rates and not s.scaling.rate_law),
    "as many rates as a law takes": lambda s: (
        bool(s.scaling.rate_law)
        and sum(0 < e.low < e.high < math.inf for e in s.scaling.rates) == 4
    ),
    "a law, and a first or last rate without bounds": lambda s: (
        bool(s.scaling.rate_law)
        and any(
            e.low == 0 and math.isinf(e.high) for e in (s.scaling.rates[0], s.scaling.rates[-1])
        )
    ),
    **{f"the law is {name}": _law(name) for name in ("power", "saturating", "surge")},
}
"""Where dbtool.analysis branches: each has to be met by a state."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory, few_db, few_page) -> Iterator[list[list[Source]]]:
    folder = tmp_path_factory.mktemp("altered")
    _write_altered(few_db, folder)
    with dbtool.open(folder) as altered:
        pages = {few_page: few_db, write_page(folder, folder / "altered.html"): altered}
        yield [
            [Source(db, page, own) for own in db.workloads().to_dicts()]
            for page, db in pages.items()
        ]


def _write_altered(db: Database, folder: Path) -> None:
    """Writes measured trials with what no release here has.

    That is average precisions with inclusive goals, values that are infinite, trials that diverge
    or were never evaluated, no search space, and searches of three trials, or of one.
    """
    statuses = db.trials(COPIED).to_dicts()
    for (size,), rows in db.measurements(COPIED).collect().group_by("batch_size"):
        trials = []
        for own in (each for each in statuses if each["batch_size"] == size):
            number, status = own["trial_id"], own["status"]
            of_trial = rows.filter(pl.col("trial_id") == number).sort("step")
            kept = of_trial.select("step", value=1 - pl.col("val_classification_error"))
            evaluations = [
                {"step": row["step"], "val_average_precision": row["value"]}
                for row in kept.drop_nulls().to_dicts()
            ]
            for row in evaluations[1 :: 7 + number % 3]:
                row["val_average_precision"] = math.inf
            if number % 9 == 4:
                evaluations = []
            elif number % 9 == 0:
                status, evaluations = "INCOMPLETE", evaluations[:3]
            if size >= 512 and number % 5:
                status = "INFEASIBLE"
            rate = {"learning_rate": own["learning_rate"]}
            trials.append((number, status, rate, evaluations))
        study = {"batch_size": size, "metric": "val_average_precision", "goal": 0.9}
        study |= {"goal_inclusive": True, "search_space": {}}
        fewer = trials if size < 1024 else trials[:4]
        write_shard(folder, workload="altered/fc/sgd", trials=fewer, **study)
        ended = [each for each in trials if each[3]]
        count = {64: 1, 128: 6}.get(size, 3)
        write_shard(folder, workload="few/fc/sgd", trials=ended[:count], **study)
        complete = [each for each in ended if each[1] == "COMPLETE"]
        one = complete[: 3 if size == 64 else 1]
        write_shard(folder, workload="one/fc/sgd", trials=one, **study)


def _check(explorer: Explorer, state: State) -> None:
    """That the page answers as dbtool does."""
    own = state.source.own
    key = f"{own['release']}:{own['workload']}"
    asked = {"metric": state.metric, "goal": state.goal, "trials": state.k}
    explorer.go(workload=key, **asked)
    found = {title: _rows(explorer, title) for title in CARDS}
    for title, kind in CARDS.items():
        expected = rows_of(state.report.rows(kind).write_csv())
        assert len(found[title]) == len(expected), (state, kind)
        if expected:
            agree(found[title], expected)
    _check_lines(found["Steps to result"], state.report)


def _rows(explorer: Explorer, title: str) -> list[dict[str, Any]]:
    shown = explorer.page.get_by_role("region", name=title, exact=True).count()
    return explorer.csv(title) if shown else []


def _check_lines(rows: list[dict[str, Any]], report: ScalingReport) -> None:
    """That the line of perfect scaling is the limit of the fitted curve."""
    curve = report.answers[0].scaling.curve if report.answers else None
    for row in rows:
        line = row["perfect"] and float(row["perfect"]) * int(row["batch_size"])
        # As near as values of fits have to agree.
        assert line == ("" if curve is None else pytest.approx(curve.fewest_examples.value, 1e-4))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [SEEDS, MORE_SEEDS], ids=["of every condition", "more"])
def test_states(sources, tab, seeds):
    states = [drawn(sources, seed) for seed in seeds]
    missing = [name for name, is_met in CONDITIONS.items() if not any(map(is_met, states))]
    assert seeds is MORE_SEEDS or not missing, "add seeds whose states meet these to SEEDS"
    # After some fifty downloads Chromium lets a tab have no more.
    for number, state in enumerate(states):
        if number % 8 == 0:
            tabs = {page: tab(page) for page in {each.source.page for each in states}}
        _check(tabs[state.source.page], state)


@pytest.mark.slow
def test_replicates(tmp_path, tab, few_db):
    """Measured trials of eight settings or one, whose replicates they are here, or of one rate."""
    rows = few_db.measurements(COPIED).collect().drop_nulls("val_classification_error")
    statuses = few_db.trials(COPIED)
    for settings, replicates, (size,), of_size in (
        (*kind, *group)
        for kind in ((8, True), (1, True), (1, False))
        for group in statuses.group_by("batch_size", maintain_order=True)
    ):
        trials = [
            (
                own["trial_id"],
                own["status"],
                {"learning_rate": 0.1 * (1 + own["trial_id"] % settings)},
                rows.filter(batch_size=size, trial_id=own["trial_id"])
                .select("step", "val_classification_error")
                .to_dicts(),
            )
            for own in of_size.to_dicts()
        ]
        name = f"settings_{settings}" if replicates else "one_rate"
        study = {"workload": f"{name}/b/sgd", "batch_size": size, "goal": 0.03}
        write_shard(tmp_path / "db", trials=trials, replicates=replicates, **study)
    page = write_page(tmp_path / "db", tmp_path / "replicates.html")
    explorer = tab(page)
    with dbtool.open(tmp_path / "db") as db:
        for own in db.workloads().to_dicts():
            source = Source(db, page, own)
            for goal, k in ((0.03, None), (0.05, None), (0.03, 3)):
                crossings = db.crossings(own["workload"], goal=goal)
                state = State(source, "val_classification_error", goal, k, crossings)
                is_one_rate = own["workload"].startswith("one_rate")
                assert all(bool(each.settings) != is_one_rate for each in state.searches)
                _check(explorer, state)


@pytest.mark.slow
def test_steps_alone(tab, few_page):
    """Of a table of one's own, also where all batch sizes lie on one side of the critical one."""
    explorer = tab(few_page, at={"workload": "", "line": "first"})
    tables: list[pl.DataFrame] = []
    with dbtool.open(BUNDLED) as db:
        for workload in ("fc_64_64_64/sgd", "fc_1024_1024/sgd"):
            known = db.scaling(f"mnist/{workload}").rows("steps").drop_nulls("steps")
            for steps in (known, known[:9], known[9:], known[:2]):
                name = pl.lit(str(len(tables))).alias("workload")
                tables.append(steps.select(name, "batch_size", "steps"))
    report = dbtool.scaling_of_table(pl.concat(tables))
    curves = [answer.scaling.curve for answer in report.answers if answer.scaling.curve]
    lows = [curve for curve in curves if min(each.low for each in curve.allowed) > 0]
    highs = [curve for curve in curves if max(each.high for each in curve.allowed) < math.inf]
    assert any(curve.critical < curve.reached[0] for curve in lows)
    assert any(curve.critical > curve.reached[1] for curve in highs)
    explorer.drop(own=pl.concat(tables).write_csv())
    rows = explorer.csv("Steps to result")
    agree(rows, report.rows("steps").write_csv())
    agree(explorer.csv("Critical batch size"), report.rows("critical").write_csv())
    # Rows of one batch size are replicates.
    twice = pl.concat([tables[0], tables[0].with_columns(pl.col("steps") * 2), tables[0][2:]])
    twice = twice.with_columns(workload=pl.lit("twice"))
    explorer.drop(twice=twice.write_csv())
    of_twice = [row for row in explorer.csv("Critical batch size") if row["workload"] == "twice"]
    agree(of_twice, dbtool.scaling_of_table(twice).rows("critical").write_csv())
    # Through the first point.
    for row in rows:
        first = next(each for each in rows if each["workload"] == row["workload"])
        examples = int(first["batch_size"]) * float(first["steps"])
        assert float(row["perfect"]) * int(row["batch_size"]) == pytest.approx(examples)
