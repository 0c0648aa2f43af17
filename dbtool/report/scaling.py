"""The report on how far larger batches help: words, rows and a figure from one analysis."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from dbtool.analysis.answers import Answer, answers_of_table, answers_of_trials
from dbtool.analysis.branches import branch_rows, branches_of
from dbtool.analysis.comparison import Tasks, comparison_rows, tasks_of
from dbtool.analysis.costs import step_time as read_step_time
from dbtool.analysis.kinds import Form
from dbtool.analysis.noise_scale import moments_of_trials, noise_scale_rows
from dbtool.analysis.profiles import cells_left_out, performance_profiles
from dbtool.analysis.scaling import Settings
from dbtool.core.errors import UsageError, printable, unknown
from dbtool.report.tables import (
    KINDS,
    NEEDS,
    OF_ANSWERS,
    OF_ANY_STEPS,
    law_rows,
    ratio_rows,
    rows_of_answers,
)
from dbtool.report.words import PARAGRAPHS, in_short, law_sentence, left_out, sentences
from dbtool.store.questions import name_in
from dbtool.store.releases import Releases
from dbtool.store.tables import TABLE_FILE, positive, text_table

if TYPE_CHECKING:
    from dbtool.figures.plot import Plot

_IN_SHORT = ("tradeoff", "overhead", "perfect_to", "useful_to")


@dataclass(frozen=True)
class Trials:
    """The trials that answers come from, as they were when the report was made.

    Attributes:
        db: their database, of which a figure asks for more; all else works after it is closed.
        crossings: their rows of `Database.crossings`.
        moments: their moments of the gradient, from `moments_of_trials`.
        branches: of them, from `branches_of`.
        workloads: the rows of `Database.workloads`.
    """

    db: Releases
    crossings: pl.DataFrame
    moments: pl.DataFrame
    branches: pl.DataFrame
    workloads: pl.DataFrame

    def rows(self, kind: str, answers: Sequence[Answer], settings: Settings) -> pl.DataFrame:
        """Return the rows of a kind that comes from trials; see `ScalingReport.rows`."""
        if kind == "branches":
            return branch_rows(self.branches, level=settings.level)
        if kind == "noise_scale":
            critical = {
                (answer.release, answer.workload, answer.goal): answer.scaling.tradeoff
                for answer in answers
            }
            return noise_scale_rows(self.moments, critical, level=settings.level)
        if kind == "profiles":
            return performance_profiles(self.tasks, k=settings.trials)
        return comparison_rows(self.tasks, settings.trials, level=settings.level)

    @cached_property
    def tasks(self) -> Tasks:
        """Return the searches of each task, by optimizer."""
        return tasks_of(self.crossings, self.workloads)


class LawColumn(NamedTuple):
    """A column of workloads, with its values above 0 by workload."""

    column: str
    values: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class ScalingReport:
    """How far larger batches help on some workloads; its text says it in words.

    Attributes:
        answers: one a workload.
        settings: those they were made with.
        trials: the trials of all the workloads; None for a table of steps.
        against: of the workload whose critical batch sizes are compared with theirs, one a goal.
        law: the column that critical batch sizes are a power of; None for no law.
    """

    answers: Sequence[Answer]
    settings: Settings
    trials: Trials | None = None
    against: Sequence[Answer] = ()
    law: LawColumn | None = None

    def rows(self, kind: str = "critical") -> pl.DataFrame:
        """Return the rows of one kind; docs/scaling.md has the columns.

        Args:
            kind: critical, regimes, steps, ratios, learning_rates, noise_scale, comparison,
                profiles, costs, law or recommended.

        Raises:
            UsageError: there is no such kind, it comes from trials and these are steps alone, or
                ratios are to no workload.

        Example:
            >>> db.scaling("mnist/fc_64_64_64/sgd").rows("steps")["batch_size"].max()
            55000
        """
        if kind not in KINDS:
            raise unknown("kind of rows", kind, KINDS, "dbtool scaling --help")
        self._require(kind)
        answers, settings = self.answers, self.settings
        if kind == "ratios":
            rows = ratio_rows([(each, self._other(each)) for each in answers], settings)
        elif kind == "law" and self.law:
            rows = law_rows(answers, self.law.column, self.law.values, settings)
        elif kind in OF_ANSWERS or self.trials is None:
            rows = rows_of_answers(kind, answers, settings)
        else:
            rows = self.trials.rows(kind, answers, settings)
        if self.trials is None or kind in {"costs", "recommended"}:
            return rows
        # As studies have them, so that the two can be joined.
        return rows.with_columns(pl.col("^batch_size$").cast(pl.Int64))

    def _require(self, kind: str) -> None:
        """Raise an error for rows that come from what was not given."""
        needs: Mapping[str, tuple[object, str]] = {
            "ratios": (
                self.against,
                "rows of ratios compare with a workload: name one with against (--against)",
            ),
            "law": (self.law, "a law is in a column of workloads: name one with law (--law)"),
            "costs": (
                self.settings.seconds,
                "costs follow from how long a step takes: tell it with step_time (--step-time)",
            ),
            "recommended": (self.settings.at, "name the batch size to tell of with at (--at)"),
        }
        given, sentence = needs.get(kind, (True, ""))
        if not given:
            raise UsageError(sentence)
        if self.trials is None and kind not in {*OF_ANY_STEPS, *needs}:
            raise UsageError(
                f"rows of {kind} come from trials, and a table of steps has none; ask for one of "
                f"{', '.join(OF_ANY_STEPS)}"
            )

    def in_short(self) -> pl.DataFrame:
        """Return a row a workload, with batch sizes as text such as `208 (185-233)` or `> 608`.

        Where a workload has several goals, there is a row a goal, with the column goal.
        """
        made = [
            {
                "release": answer.release,
                "workload": answer.workload,
                "goal": None if answer.goal is None else f"{answer.goal:g}",
                **{name: in_short(getattr(answer.scaling, name)) for name in _IN_SHORT},
            }
            for answer in self.answers
        ]
        names = ("release", "workload", "goal", *_IN_SHORT)
        rows = pl.DataFrame(made, schema=dict.fromkeys(names, pl.String))
        several = rows.select("release", "workload").is_duplicated().any()
        return rows if several else rows.drop("goal")

    def statements(self) -> Iterator[tuple[Answer, str, list[str]]]:
        """Yield each workload's answer with a heading and statements, the most important first."""
        noise = None if self.trials is None else self.rows("noise_scale")
        for answer in self.answers:
            heading = answer.workload or "steps"
            if answer.release is not None:
                heading += f" ({answer.release}), {answer.metric} past {answer.goal:g}"
                if self.settings.sustained > 1:
                    heading += f" at {self.settings.sustained} evaluations in a row"
            own, caveats = noise, list[str]()
            if noise is not None and self.trials is not None:
                key = {"release": answer.release, "workload": answer.workload}
                own = noise.filter(goal=answer.goal, **key)
                of_workload = self.trials.workloads.filter(**key)
                caveats = [printable(text) for text in of_workload["caveats"].explode() if text]
            other = self._other(answer)
            against = None if other is None else (other.name_beside(answer), other.scaling)
            found = sentences(answer.scaling, self.settings, own, against)
            yield answer, heading, [*found, *caveats]

    def _other(self, answer: Answer) -> Answer | None:
        """Return what an answer is compared with: of the same goal, where there are several."""
        other = next((each for each in self.against if each.goal == answer.goal), None)
        if len(self.against) == 1:
            [other] = self.against
        return None if other is None or other.key == answer.key else other

    def plot(
        self,
        width: float | None = None,
        on_left_out: Callable[[str], None] = lambda _reason: None,
    ) -> "Plot":
        """Draw the steps to result of each workload, a panel each, with the fit and its findings.

        Of several goals the critical batch size against the goal is drawn instead.

        Args:
            width: in inches; None: as wide as suits its panels.
            on_left_out: called with the reason why a workload has no panel.

        Raises:
            UsageError: no picture is so wide.
            NoDataError: no study has steps to result.
        """
        from dbtool.figures.plot import plot_scaling

        db = None if self.trials is None else self.trials.db
        return plot_scaling(db, self.answers, self.settings, width, on_left_out)

    def left_out(self, kind: str = "critical") -> list[str]:
        """Return which batch sizes rows of a kind lack for want of trials, a sentence a workload.

        Of profiles it is one sentence; branches and comparisons choose trials of their own.
        """
        if kind == "profiles" and self.trials is not None:
            told = cells_left_out(self.trials.tasks, k=self.settings.trials)
            return [] if told is None else [told]
        if kind in {"branches", "comparison", "profiles"}:
            return []
        named = ((name_in(each.release, each.workload), each.scaling) for each in self.answers)
        return [f"{name}: {few}" for name, each in named if (few := left_out(each))]

    def of_law(self) -> list[str]:
        """Return what the law says, a statement a definition; none where there is no law."""
        if self.law is None:
            return []
        rows = self.rows("law").iter_rows(named=True)
        none = f"No law in {self.law.column}: {NEEDS['law']}."
        return [law_sentence(row, self.settings) for row in rows] or [none]

    def __str__(self) -> str:
        workloads = [
            "\n".join([heading, *map(PARAGRAPHS.fill, statements)])
            for _, heading, statements in self.statements()
        ]
        return "\n\n".join([*workloads, *map(PARAGRAPHS.fill, self.of_law())])

    __repr__ = __str__


def scaling_of_trials(
    db: Releases,
    own: pl.DataFrame,
    settings: Settings,
    workloads: Collection[str],
    other: pl.DataFrame | None = None,
    law: LawColumn | None = None,
) -> ScalingReport:
    """Return the report of trials, with all that its text and its rows need.

    Own trials are rows of `Database.crossings` of the workloads to report on, the other ones of the
    workload that these are compared with.

    Raises:
        UsageError: the other trials are of several workloads.
    """
    others = [] if other is None else answers_of_trials(other, settings)
    names = list(dict.fromkeys(name_in(each.release, each.workload) for each in others))
    if len(names) > 1:
        raise UsageError(
            f"ratios are to one workload, and these are {len(names)}: {', '.join(names)}"
        )
    every = db.workloads()
    branches = branches_of(db, every["workload"].unique(), workloads)
    trials = Trials(db, own, moments_of_trials(db, own), branches, every)
    return ScalingReport(answers_of_trials(own, settings), settings, trials, others, law)


def scaling_of_table(
    table: str | os.PathLike[str] | pl.DataFrame,
    *,
    overhead: float = 0.2,
    start: float | None = None,
    level: float = 0.95,
    curve: Form = "bent",
    step_time: str | os.PathLike[str] | None = None,
    devices: int = 1,
    law: str | None = None,
    values: str | os.PathLike[str] | pl.DataFrame | None = None,
    at: float | None = None,
) -> ScalingReport:
    """Tell how far larger batches help, from steps to result of any origin.

    Args:
        table: a CSV file or a Polars frame with the columns batch_size, steps and, if there are
            several, workload; steps are empty or inf where the goal was missed. Rows of one batch
            size are replicates, of which the median counts; or a row has it with n and sd, or with
            lower and upper.
        overhead: as of `Database.scaling`, and so the others.
        start: the batch size from which scaling is linear; None: the smallest.
        level: of all intervals.
        curve: `bent` or `hyperbola`.
        step_time: as of `Database.scaling`, and so devices and law.
        devices: the most for a run.
        law: a column of `values`.
        values: a table with the columns workload and that of the law; None: this one.
        at: batch size, also one between those measured, to tell steps of.

    Raises:
        UsageError: it cannot be read, a column is missing, or a number is out of range.

    Example:
        >>> steps = [6400 / size + 100 for size in (1, 4, 16, 64, 256, 1024)]
        >>> table = pl.DataFrame({"batch_size": (1, 4, 16, 64, 256, 1024), "steps": steps})
        >>> round(scaling_of_table(table).rows("critical")["critical_batch_size"][0])
        64
    """
    seconds = None if step_time is None else read_step_time(step_time)
    settings = Settings(
        level, overhead, start, curve=curve, seconds=seconds, devices=devices, at=at
    )
    known = None if law is None else law_of_table(law, table if values is None else values)
    return ScalingReport(answers_of_table(table, settings), settings, law=known)


def law_of_table(column: str, table: str | os.PathLike[str] | pl.DataFrame) -> LawColumn:
    """Return a column of a table with the column workload.

    Raises:
        UsageError: it cannot be read, lacks a column, a value is not a number above 0, or a
            workload has two.
    """
    rows = text_table(table, ("workload", column), f"workload and {column}")
    known = rows.select("workload", positive(rows, column)).unique(maintain_order=True)
    for name in known.filter(known["workload"].is_duplicated())["workload"]:
        raise UsageError(f"{rows[TABLE_FILE][0]}: {name} has two values of {column}")
    return LawColumn(column, dict(known.iter_rows()))
