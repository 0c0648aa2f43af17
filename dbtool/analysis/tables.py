"""What `dbtool scaling` found, as rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import polars as pl

from dbtool.analysis.answers import answers_of_table
from dbtool.analysis.comparison import comparison_rows, tasks_of
from dbtool.analysis.interval import NOTHING_KNOWN, finite
from dbtool.analysis.kinds import Kind
from dbtool.analysis.noise_scale import moments_of_trials, noise_scale_rows
from dbtool.analysis.profiles import performance_profiles
from dbtool.analysis.regimes import Curve
from dbtool.analysis.scaling import Settings
from dbtool.analysis.words import PARAGRAPHS, in_short, sentences
from dbtool.core.errors import UsageError, unknown

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dbtool.analysis.answers import Answer
    from dbtool.analysis.critical import Estimate
    from dbtool.store.releases import Releases

KINDS: tuple[Kind, ...] = get_args(Kind)
_OF_ANY_STEPS = ("critical", "regimes", "steps")
_IN_SHORT = ("release", "workload", "tradeoff", "overhead", "perfect_to", "useful_to")
_WORKLOAD = ("release", "workload", "metric", "goal")
_TEXTS = ("release", "workload", "metric", "definition", "verdict", "curve", "law")
_COUNTS = ("trials", "batch_sizes", "reached")


@dataclass(frozen=True, repr=False)
class ScalingReport:
    """How far larger batches help on some workloads; its text says it in words.

    Attributes:
        answers: one a workload.
        settings: those they were made with.
        db: the database that the trials are of; None for a table of steps.
        trials: the rows of `Database.crossings` of all the workloads; None likewise.
    """

    answers: Sequence[Answer]
    settings: Settings
    db: Releases | None = None
    trials: pl.DataFrame | None = None

    def rows(self, kind: str = "critical") -> pl.DataFrame:
        """Return the rows of one kind; docs/scaling.md has the columns.

        Args:
            kind: critical, regimes, steps, learning_rates, noise_scale, comparison or profiles.

        Raises:
            UsageError: there is no such kind, or it comes from trials and these are steps alone.

        Example:
            >>> db.scaling("mnist/fc_64_64_64/sgd").rows("steps")["batch_size"].max()
            55000
        """
        if kind not in KINDS:
            raise unknown("kind of rows", kind, KINDS, "dbtool scaling --help")
        if kind in _OF_ANY_STEPS:
            rows = _OF_ANSWERS[kind](self.answers, self.settings)
            return rows if self.db is None else _with_whole_sizes(rows)
        if self.db is None or self.trials is None:
            raise UsageError(
                f"rows of {kind} come from trials, and a table of steps has none; ask for one of "
                f"{', '.join(_OF_ANY_STEPS)}"
            )
        if kind == "learning_rates":
            return _with_whole_sizes(_learning_rates(self.answers))
        if kind == "noise_scale":
            return self._noise_scale(self.db, self.trials)
        tasks = tasks_of(self.trials, self.db.workloads())
        if kind == "profiles":
            return performance_profiles(tasks, k=self.settings.trials).rows
        return comparison_rows(tasks, self.settings.trials, level=self.settings.level)

    def in_short(self) -> pl.DataFrame:
        """Return a row a workload, with batch sizes as text such as `208 (185-233)` or `> 608`."""
        made = [
            {"release": answer.release, "workload": answer.workload, **in_short(answer.scaling)}
            for answer in self.answers
        ]
        return pl.DataFrame(made, schema=dict.fromkeys(_IN_SHORT, pl.String))

    def statements(self) -> Iterator[tuple[Answer, str, list[str]]]:
        """Yield each workload's answer with a heading and statements, the most important first."""
        noise = None if self.db is None else self.rows("noise_scale")
        for answer in self.answers:
            heading = answer.workload or "steps"
            if answer.release is not None:
                heading += f" ({answer.release}), {answer.metric} past {answer.goal:g}"
            own = noise
            if noise is not None:
                own = noise.filter(release=answer.release, workload=answer.workload)
            yield answer, heading, sentences(answer.scaling, self.settings, own)

    def __str__(self) -> str:
        workloads = (
            "\n".join([heading, *map(PARAGRAPHS.fill, statements)])
            for _, heading, statements in self.statements()
        )
        return "\n\n".join(workloads)

    __repr__ = __str__

    def _noise_scale(self, db: Releases, trials: pl.DataFrame) -> pl.DataFrame:
        critical = {
            (answer.release, answer.workload): answer.scaling.tradeoff for answer in self.answers
        }
        moments = moments_of_trials(db, trials)
        return noise_scale_rows(moments, critical, level=self.settings.level)


def scaling_of_table(
    table: str | os.PathLike[str] | pl.DataFrame,
    *,
    overhead: float = 0.2,
    start: float | None = None,
    level: float = 0.95,
) -> ScalingReport:
    """Tell how far larger batches help, from steps to result of any origin.

    Args:
        table: a CSV file or a Polars frame with the columns batch_size, steps and, if there are
            several, workload; steps are empty where the goal was not reached.
        overhead: as of `Database.scaling`, and so the next two.
        start: the batch size from which scaling is linear; None: the smallest.
        level: of all intervals.

    Raises:
        UsageError: it cannot be read, a column is missing, or a number is out of range.

    Example:
        >>> steps = [6400 / size + 100 for size in (1, 4, 16, 64, 256, 1024)]
        >>> table = pl.DataFrame({"batch_size": (1, 4, 16, 64, 256, 1024), "steps": steps})
        >>> round(scaling_of_table(table).rows("critical")["critical_batch_size"][0])
        64
    """
    settings = Settings(level=level, overhead=overhead, start=start)
    return ScalingReport(answers_of_table(table, settings), settings)


def _critical(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    made = []
    for answer in answers:
        scaling = answer.scaling
        for definition, estimate in (
            ("tradeoff", scaling.tradeoff),
            ("overhead", scaling.overhead),
        ):
            law = scaling.rate_law
            value = estimate.value if estimate else None
            made.append(
                {
                    **_named(answer),
                    "definition": definition,
                    **(estimate or NOTHING_KNOWN).columns("critical_batch_size", "low", "high"),
                    "verdict": estimate.verdict if estimate else "not_identified",
                    "learning_rate": law.at(value) if law and value else None,
                    "fewest_steps": scaling.curve.steps if scaling.curve else None,
                    "trials": scaling.trials,
                    "batch_sizes": len(scaling.steps),
                    "reached": len(scaling.reached),
                    "level": settings.level,
                }
            )
    estimate_of = ("definition", "critical_batch_size", "low", "high", "verdict")
    rest = ("learning_rate", "fewest_steps", *_COUNTS, "level")
    return _frame(made, *estimate_of, *rest)


def _regimes(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    made = []
    for answer in answers:
        found = answer.scaling.regimes
        weights = found.weights if found else {}
        made.append(
            {
                **_named(answer),
                "curve": found.curve if found else None,
                **{f"{name}_weight": weight for name, weight in weights.items()},
                **_ends("perfect_to", found.perfect_to if found else None),
                **_ends("useful_to", found.useful_to if found else None),
                "slope": found.slope if found else None,
                "level": settings.level,
            }
        )
    weights_of = (f"{name}_weight" for name in get_args(Curve))
    knees = (*_ends("perfect_to", None), *_ends("useful_to", None))
    return _frame(made, "curve", *weights_of, *knees, "slope", "level")


def _steps(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    made = []
    for answer in answers:
        scaling = answer.scaling
        of_size = {search.batch_size: search for search in answer.searches}
        for at in scaling.steps:
            low, high = 0.0, math.inf
            if scaling.trials is not None:
                search = of_size[int(at.batch_size)]
                low, high = search.median_between(scaling.trials, settings.level)
            made.append(
                {
                    **_named(answer),
                    "batch_size": at.batch_size,
                    "trials": scaling.trials,
                    "after": at.lower,
                    "steps": finite(at.upper),
                    "low": low or None,
                    "high": finite(high),
                    "fitted": scaling.curve.at(at.batch_size) if scaling.curve else None,
                    "level": settings.level,
                }
            )
    return _frame(made, "batch_size", "trials", "after", "steps", "low", "high", "fitted", "level")


def _learning_rates(answers: Iterable[Answer]) -> pl.DataFrame:
    made = [
        {
            **_named(answer),
            "batch_size": rate.batch_size,
            "best": rate.best,
            "low": rate.low or None,
            "high": finite(rate.high),
            "trials": rate.trials,
            "law": law.law if law else None,
            "fitted": law.at(rate.batch_size) if law else None,
        }
        for answer in answers
        for law in (answer.scaling.rate_law,)
        for rate in answer.scaling.rates
    ]
    return _frame(made, "batch_size", "best", "low", "high", "trials", "law", "fitted")


_OF_ANSWERS = {"critical": _critical, "regimes": _regimes, "steps": _steps}


def _frame(made: Sequence[Mapping[str, object]], *columns: str) -> pl.DataFrame:
    """Rows with the columns of a workload and these; those that are no text or count are floats."""
    types = dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_COUNTS, pl.Int64)
    names = (*_WORKLOAD, *columns)
    return pl.DataFrame(made, schema={name: types.get(name, pl.Float64) for name in names})


def _with_whole_sizes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with batch sizes as studies have them, so that the two can be joined."""
    return rows.with_columns(pl.col("^batch_size$").cast(pl.Int64))


def _named(answer: Answer) -> dict[str, object]:
    return {name: getattr(answer, name) for name in _WORKLOAD}


def _ends(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    return (estimate or NOTHING_KNOWN).columns(name, f"{name}_low", f"{name}_high")
