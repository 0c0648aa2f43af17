"""Histories: whether they can mean what a mapping takes them for, and which values count."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from dbtool.core.contract import is_maximized, is_share
from dbtool.core.errors import counted, few_of
from dbtool.sources.tables import words
from dbtool.store.table_files import Notes, RunsError, shown
from dbtool.store.texts import LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dbtool.sources.tables.mapping import MetricColumn, RunMapping, StepColumn, WorkloadTable
    from dbtool.sources.tables.runs import Files

# How many steps of a longer history tools keep by default: run.history() of Weights & Biases, the
# web interface of TensorBoard, and its readers of event files.
_WANDB = 500
_CAPS = (_WANDB, 1_000, 10_000)
_OPTUNA = {"number", "state", "datetime_start"}
# The transforms that a measure needs to become another, by the name of the measure.
_TURNS = ("1 - x", "1 - x / 100")
_MORE_IS_BETTER = ("accuracy", "precision")
# Runs see so much less at one batch size than at others only where steps are counted otherwise.
_MUCH_LESS = 20
FILE = "\0file"
"""The column of a row's file."""
_SERIES = ["run", "metric"]


def refuse_export(path: Path, columns: Iterable[str], *, sampled: bool | None = None) -> None:
    """Refuse files that tools export without a history.

    Raises:
        RunsError: it is a chart of Weights & Biases, or a table of Optuna's trials.
    """
    names = set(columns)
    if any(name.endswith(("__MIN", "__MAX")) for name in names):
        raise RunsError(
            f"{path} is a chart of Weights & Biases' web interface, which is sampled and has a "
            "column a run: export the whole history as docs/your_own_runs.md shows"
        )
    if names >= _OPTUNA and not sampled:
        raise RunsError(
            f"{path} is a table of Optuna's trials, with one final value each: when a trial came "
            "past a goal is not in it; log the values on the way, or say files.sampled = true to "
            "take what there is"
        )


def refuse_calls(mapping: RunMapping, rows: pl.DataFrame, run: str) -> None:
    """Refuse calls of wandb.log as steps where the updates are counted too, and otherwise.

    Raises:
        RunsError: there is a column of updates that the mapping neither takes nor ignores.
    """
    columns = sorted(set(rows.columns) - mapping.property_columns)
    other = words.counter(column for column in columns if not mapping.ignores(column))
    if mapping.files.steps.column != words.CALLS or not other:
        return
    counts = rows.select(run, pl.col(words.CALLS, other).cast(pl.Float64, strict=False))
    goes_on = counts.group_by(run).agg(pl.col(other).n_unique())[other].max() != 1
    if goes_on and len(counts.filter(pl.col(words.CALLS) != pl.col(other))):
        raise RunsError(
            f"{shown(words.CALLS)} counts the calls of wandb.log, and {shown(other)} the updates: "
            f"say files.step = {other!r}, or name {shown(other)} in files.ignore"
        )


def refuse_histories(files: Files, mapping: RunMapping) -> None:
    """Refuse values that are not what the mapping takes them for, and histories with gaps.

    Values do not contradict a name: an accuracy falls where training diverges, or for its last
    steps.

    Raises:
        RunsError: an accuracy is taken for an error, or a perplexity for a cross entropy; a history
            looks sampled, or there are final values alone.
    """
    for column, (name, source) in mapping.metric_of.items():
        if wanted := _other_transform(name, source):
            raise RunsError(
                f"the column {shown(column)} is {words.measure(column)} by its name, and "
                f"metrics.{name} of the mapping takes it for another: {wanted}, or rename "
                "the column where its name misleads"
            )
    if mapping.files.sampled is None:
        _refuse_sampled(files)
        if mapping.workload.goal is not None:
            _refuse_final(files, mapping)


def oddities(
    files: Files, mapping: RunMapping, examples: Sequence[tuple[str, int, int]]
) -> Iterator[str]:
    """Yield a sentence for each thing that may not be what is meant.

    The examples are the workload, batch size and most steps of each study.
    """
    yield from _late_tests(files, mapping.files.steps.plus)
    yield from small_studies(examples)
    if _counts_examples(files, mapping.files.steps):
        yield (
            f"{shown(mapping.files.steps.column)} is taken for updates, and may count tokens or "
            "examples: if so, give files.step a divide, the number of them in an update (a number "
            "or a column), or a times where it counts calls of several updates"
        )
    yield from _rising_errors(files, mapping)
    yield from _passed_at_once(files, mapping.workload)
    if names := _of_rows(files, mapping):
        yield (
            f"{counted(len(files.runs), 'run')} of one step each, since {names} differs in each "
            "row: is that what names the runs (files.run)?"
        )


def _other_transform(metric: str, source: MetricColumn) -> str | None:
    """Return what to do about a column's transform, going by its name; None if that is right."""
    measure, given = words.measure(source.column), source.transform or ""
    if measure == "perplexity" and metric.endswith("entropy_error"):
        return None if given == "log(x)" else 'give it transform = "log(x)"'
    if measure in {None, "perplexity", "loss"} or not is_share(metric):
        return None
    is_turned = (measure in _MORE_IS_BETTER) != metric.endswith("precision")
    if (given in _TURNS) == is_turned:
        return None
    if not is_turned:
        return "give it no transform" if given == "1 - x" else 'give it transform = "x / 100"'
    return f'give it transform = "1 - {given or "x"}"'


def _refuse_final(files: Files, mapping: RunMapping) -> None:
    """Refuse runs with one step each, other than the first, as tables of final values have."""
    values = files.values
    each = values.select("run", "step").n_unique() == values["run"].n_unique()
    if values.is_empty() or not each or values["step"].min() == 0:
        return
    names = _of_rows(files, mapping)
    instead = f", and {names}, which differs in each row, does name the runs" if names else ""
    raise files.runs[values["run"][0]].first.error(
        None,
        "each run has one step, as tables of final values have: when it came past a goal is not in "
        f"them; say files.sampled = true to take what there is{instead}",
    )


def _of_rows(files: Files, mapping: RunMapping) -> str:
    """Name the columns that name runs and have another value in each row; empty for none."""
    runs = files.runs
    if len(runs) <= 1 or files.values.select("run", "step").n_unique() > len(runs):
        return ""
    said = zip(*(run.keys for run in runs), strict=True)
    found = zip(mapping.files.run_columns, said, strict=False)
    return " and ".join(column for column, given in found if len(set(given)) == len(runs))


def _refuse_sampled(files: Files) -> None:
    """Refuse histories of as many steps as a tool keeps, with gaps of different sizes between them.

    With Weights & Biases' 500 steps, even gaps are refused too, unless each step directly follows
    the one before, by one unit of updates.
    """
    # All steps of a run, and those of each metric.
    no_metric = pl.lit(None, pl.String).alias("metric")
    every = files.values.select("run", no_metric, "step", "times").unique()
    gaps = (
        pl.concat([every, files.values.select("run", "metric", "step", "times")])
        .sort("step")
        .group_by("run", "metric")
        .agg(
            pl.len(),
            pl.col("times").first(),
            gaps=pl.col("step").diff().drop_nulls().n_unique(),
            most=pl.col("step").diff().max(),
        )
    )
    # Two kinds of gaps come from a first or last step that is out of line.
    uneven = pl.col("len").is_in(_CAPS) & (pl.col("gaps") > 2)
    of_wandb = (pl.col("len") == _WANDB) & pl.col("metric").is_null()
    apart = of_wandb & (pl.col("most") > pl.col("times"))
    sampled = gaps.filter(uneven | apart).sort("run", "len")
    if sampled.is_empty():
        return
    run, count = files.runs[sampled["run"][0]], sampled["len"][0]
    others = sampled["run"].n_unique() - 1
    raise run.first.error(
        None,
        f"the history of run {shown(run.name)}{f' and of {others:,} more' if others else ''} has "
        f"exactly {count:,} steps with gaps, as tools leave them of a longer one (run.history() of "
        "Weights & Biases does unless told otherwise; scan_history() leaves nothing out): steps to "
        "result would come too late; say files.sampled = false if nothing is missing, or true to "
        "take what there is",
    )


def _late_tests(files: Files, plus: int) -> Iterator[str]:
    """Yield a sentence where tests come one step after all else in each run, as in Lightning."""
    is_test = pl.col("metric").str.contains(r"(^|[^a-z])test([^a-z]|$)")
    ends = files.values.group_by("run").agg(
        test=pl.col("step").filter(is_test).max(), other=pl.col("step").filter(~is_test).max()
    )
    tested = ends.drop_nulls()
    if plus and len(tested) and (tested["test"] == tested["other"] + plus).all():
        yield (
            f"tests come {counted(plus, 'step')} after all else in each run, as Lightning counts "
            "them: give their columns plus = 0 in [metrics]"
        )


def small_studies(examples: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    """Yield a sentence for a study whose runs see far fewer examples than those of all others."""
    seen: dict[str, dict[int, int]] = defaultdict(dict)
    for workload, size, steps in examples:
        seen[workload][size] = max(seen[workload].get(size, 0), size * steps)
    for workload, counts in seen.items():
        for size, count in counts.items():
            others = [each for other, each in counts.items() if other != size]
            if others and 0 < count * _MUCH_LESS < min(others):
                yield (
                    f"{workload} sees {count:,} examples at batch size {size}, and at least "
                    f"{min(others):,} at others: where its steps count calls of several updates, "
                    "give files.step a times"
                )


def _counts_examples(files: Files, steps: StepColumn) -> bool:
    """Return whether steps look like tokens or examples, by their name or the batch sizes.

    Steps are then multiples of their run's batch size, and further apart at the largest one: calls
    after a fixed number of updates are as far apart at each.
    """
    if steps.divide != 1:
        return False
    if not words.EXAMPLES.isdisjoint(words.split(steps.column)):
        return True
    at: dict[int, set[int]] = defaultdict(set)
    for run, counts in files.values.group_by("run").agg(pl.col("step").unique()).iter_rows():
        at[files.runs[run].properties["study"]["batch_size"]].update(counts)
    apart = {size: math.gcd(*counts) for size, counts in at.items()}
    are_multiples = all(each and each % size == 0 for size, each in apart.items())
    return len(apart) > 1 and are_multiples and apart[max(apart)] > apart[min(apart)]


def _rising_errors(files: Files, mapping: RunMapping) -> Iterator[str]:
    """Yield a sentence for an error that rises, of whose column the name says nothing."""
    for column, (metric, _) in mapping.metric_of.items():
        if metric.endswith("classification_error") and words.measure(column) is None:
            values = files.values.filter(pl.col("metric") == metric)
            runs = values.filter(pl.col("value").is_finite()).group_by("run")
            # Of most runs, from the first value to the last.
            change = (pl.col("value").last() - pl.col("value").first()).sign()
            if runs.agg(change)["value"].sum() > 0:
                yield f"{metric} rises: is {shown(column)} an accuracy?"


def _passed_at_once(files: Files, workload: WorkloadTable) -> Iterator[str]:
    """Yield a sentence where the first value of every run is past the goal."""
    metric, goal = workload.metric, workload.goal
    if isinstance(metric, str) and isinstance(goal, float):
        values = files.values.filter(pl.col("metric") == metric).group_by("run")
        firsts = values.agg(pl.col("value").first())["value"]
        is_past = firsts > goal if is_maximized(metric) else firsts < goal
        if len(firsts) and is_past.all():
            yield f"every run begins past the goal {goal:g} of {metric}: is that what is meant?"


def without_missing(values: pl.DataFrame, row: Sequence[str]) -> pl.DataFrame:
    """Drop NaN that stands for no value: beside finite numbers of the same row.

    The loss that is trained on is NaN where it diverged, too: then for longer at the end than ever
    before, in the wide format for more than a row, of rows with nothing that was not beside it.

    Args:
        values: run, metric, step, value, `FILE` and `LINE`.
        row: the columns that are equal for values of one row.
    """
    if not values["value"].is_nan().any():
        return values
    columns = values.columns
    is_nan, finite = pl.col("value").is_nan(), pl.col("value").is_finite()
    at = pl.int_range(pl.len()).over(_SERIES, order_by="step")
    trained = pl.col("metric").is_in(words.trained(values["metric"].unique()))
    values = values.with_columns(at=at, whole=(trained & finite).any().over(row))
    values = values.with_columns(usual=(pl.col("whole") & finite).any().over(_SERIES))
    values = values.with_columns(shows=(pl.col("usual") | ~finite).all().over(row))
    # In the long format a last value that is not a number has been logged.
    wide, there = FILE in row, pl.col("at").filter(~is_nan)
    gaps = values.group_by(_SERIES).agg(
        longest=pl.max_horizontal(there.sort().diff().max() - 1, there.min(), int(wide)),
        last=there.max().fill_null(-1),
    )
    values = values.join(gaps, on=_SERIES, how="left", maintain_order="left")
    after = pl.col("at") > pl.col("last")
    shows = pl.col("shows") | (pl.col("last") < 0) | (not wide)
    ended = (after & shows).sum().over(_SERIES)
    diverged = trained & after & (ended > pl.col("longest"))
    beside = finite.any().over(row)
    return values.filter(~(is_nan & beside & ~diverged)).select(columns)


def without_lost(
    values: pl.DataFrame, runs: Sequence[str], notes: Notes, *, anew: bool
) -> pl.DataFrame:
    """Drop values that a run has of later steps than the checkpoint from which it went on.

    It did where a metric goes on at an earlier step than before; of that step, the later value is
    the run's. Runs whose rows are in no order of their steps lose nothing.

    Args:
        values: run, metric, step, value, `FILE` and `LINE`.
        runs: the names of the runs.
        notes: collects a sentence about what is dropped.
        anew: whether the runs of `begun_anew` lose what came before, too.
    """
    rows = _in_order(values)
    if not rows["begins"].any():
        return values
    unordered = [*_unordered(rows, notes), *([] if anew else begun_anew(values))]
    rows = rows.with_columns(pl.col("begins") & ~pl.col("run").is_in(unordered)).drop("same")
    rows = rows.sort("run", FILE, LINE, maintain_order=True)
    parts = rows.group_by(_SERIES).agg(pl.col(FILE).n_unique())[FILE]
    changes = (pl.col("metric") != pl.col("metric").shift()).sum() + 1
    blocks = rows.group_by("run").agg(changes - pl.col("metric").n_unique())["metric"]
    # What was logged file by file, or metric by metric, is in order there alone.
    by = ["run", *([FILE] if parts.max() == 1 else []), *([] if blocks.max() else ["metric"])]
    begins = pl.when("begins").then("step").otherwise(2**63 - 1)
    least = begins.reverse().cum_min().reverse().over(by)
    key = [*_SERIES, "step"]
    again = pl.int_range(pl.len()).over(key) < pl.len().over(key) - 1
    # What a run logged first when it went on may have been the last before, such as an evaluation.
    rows = rows.with_row_index("at").with_columns(before=pl.col("at").shift().over(_SERIES))
    between = rows.filter("begins", pl.lit("metric" not in by))
    first = between.select(pl.int_ranges(pl.col("before") + 1, "at").explode())["before"]
    taken = (pl.col("step") == least) | pl.col("at").last().over(key).is_in(first.implode())
    rows = rows.with_columns(lost=(pl.col("step") > least) | again & taken)
    lost = rows.filter("lost")
    if lost.is_empty():
        return values
    names = [shown(runs[number]) for number in lost["run"].unique(maintain_order=True)]
    notes.add(
        f"run {few_of(names, 3)} went on from an older checkpoint, and is read without "
        f"{counted(len(lost), 'value')} of the branch that it left "
        '(files.lost_branches = "keep" keeps them)'
    )
    return rows.filter(~pl.col("lost")).drop("begins", "lost", "at", "before")


def begun_anew(values: pl.DataFrame) -> list[int]:
    """Return the runs that begin anew at their first steps with other values, as several runs do.

    For the values see `without_lost`.
    """
    rows, step = _in_order(values), pl.col("step")
    series = rows.group_by(_SERIES).agg(first=step.first(), back=step.filter("begins").min())
    runs = series.drop_nulls("back").group_by("run").agg((pl.col("back") <= pl.col("first")).all())
    rows = rows.join(runs.filter("back"), on="run", how="semi")
    kinds = rows.group_by(*_SERIES, "step").agg(pl.col("value").n_unique())
    return kinds.filter(pl.col("value") > 1)["run"].unique().to_list()


def _in_order(values: pl.DataFrame) -> pl.DataFrame:
    """Return values as they were logged, with whether the one before is of the same metric.

    Such a value begins where its step is an earlier one.
    """
    rows = values.sort("run", "metric", FILE, LINE, maintain_order=True)
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in _SERIES)
    return rows.with_columns(same=same, begins=same & (pl.col("step").diff() < 0))


def _unordered(rows: pl.DataFrame, notes: Notes) -> list[int]:
    """Return the runs whose rows are in no order, or the newest first.

    Their steps go below those at which they began, or down at every other row; as do most runs of
    the same file that go down at all.
    """
    place, step = pl.struct(FILE, LINE), pl.col("step")
    runs = rows.group_by("run").agg(
        pl.col(FILE).unique(),
        rows=place.n_unique(),
        down=place.filter("begins").n_unique(),
        below=step.filter("begins").min() < step.filter(~pl.col("same")).min(),
    )
    runs = runs.filter(pl.col("down") > 0).explode(FILE)
    runs = runs.with_columns(odd=pl.col("below") | (2 * pl.col("down") >= pl.col("rows")))
    runs = runs.filter(pl.col("odd") | (pl.col("odd").mean().over(FILE) > 0.5))
    if (runs["down"] < runs["rows"] - 1).any():
        notes.add("rows are in no order of their steps, and are sorted")
    return runs["run"].unique().to_list()
