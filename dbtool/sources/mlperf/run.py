"""A training run as its log tells it: setting, evaluations with their updates, and how it ended."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from dbtool.core.footer import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dbtool.core.footer import Scalar, Status
    from dbtool.sources.mlperf.benchmarks import Benchmark
    from dbtool.sources.mlperf.log import Event

_EVALUATIONS = ("eval_accuracy", "eval_error", "eval_loss")
# Metrics that a line names beside its value, in the order of Benchmark.metric and also.
_NAMED = {"FID": 0, "CLIP": 1}
_SUBMISSION = {
    "submission_org": "submitter",
    "submission_division": "division",
    "submission_platform": "platform",
}
# Not settings of training, or told elsewhere.
_OTHER = (
    *("submission_", "eval_", "train_", "run_", "epoch_", "block_", "init_", "cache_", "tracked_"),
    *("seed", "global_batch_size", "status", "target_", "trained_", "learning_rate", "opt_step"),
    *("samples_per_epoch", "power", "weights_"),
)
# Logs round training sets to whole batches, and filter texts by length.
_MOST_APART = 0.15
# BERT is evaluated every 150,000 samples or so; smaller places number the evaluations.
_FEWEST_SAMPLES = 1_000


class RefusedError(ValueError):
    """A log is not a run that steps to a result can be counted of; the message says why."""


class Evaluation(NamedTuple):
    """Values of metrics after a number of updates.

    Attributes:
        step: updates made.
        seconds: time since the start of training; None where the log has no times.
        values: metric to its value.
    """

    step: int
    seconds: float | None
    values: dict[str, float]


class BenchmarkRun(NamedTuple):
    """A run as its log tells it.

    Attributes:
        batch_size: examples a step.
        seed: its seed; None where the log does not say.
        metaparameters: the settings of its training and of its submission.
        status: INFEASIBLE where it ended without a finite value. A run that gave up counts as one
            that was trained to its end and missed the goal.
        evaluations: in the order of their steps.
    """

    batch_size: int
    seed: int | None
    metaparameters: dict[str, Scalar]
    status: Status
    evaluations: tuple[Evaluation, ...]


def benchmark_run(events: Sequence[Event], benchmark: Benchmark) -> BenchmarkRun:
    """Return the run of a log's events.

    Raises:
        RefusedError: it has no batch size, no evaluation, or not where its evaluations were made.
    """
    setting = {event.key: event.value for event in reversed(events)}
    batch_size = setting.get("global_batch_size")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise RefusedError("it has no batch size")
    evaluations = tuple(_evaluations(events, benchmark, batch_size, setting))
    if not evaluations:
        raise RefusedError("it has no evaluation")
    seed = setting.get("seed")
    last = evaluations[-1].values.get(benchmark.metric, math.nan)
    return BenchmarkRun(
        batch_size,
        seed if isinstance(seed, int) and abs(seed) < 2**63 else None,
        _metaparameters(setting),
        "COMPLETE" if math.isfinite(last) else "INFEASIBLE",
        evaluations,
    )


def _metaparameters(setting: dict[str, Any]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    for key, value in sorted(setting.items()):
        if key in _SUBMISSION and isinstance(value, str):
            found[_SUBMISSION[key]] = value.lower() if key == "submission_division" else value
        elif key == "opt_name" and isinstance(value, str):
            found["optimizer"] = value.lower()
        elif not key.startswith(_OTHER) and isinstance(value, bool | int | float | str):
            found["learning_rate" if key.endswith("_base_learning_rate") else key] = plain(value)
    return found


def _evaluations(
    events: Sequence[Event], benchmark: Benchmark, batch_size: int, setting: dict[str, Any]
) -> Iterator[Evaluation]:
    start = next((event.time_ms for event in events if event.key == "run_start"), None)
    lines = [event for event in events if event.key in _EVALUATIONS]
    values = [_values(event, benchmark) for event in lines]
    steps = list(_steps(lines, benchmark, batch_size, setting))
    at: dict[int, Evaluation] = {}
    for event, found, step in zip(lines[-len(steps) :], values[-len(steps) :], steps, strict=True):
        seconds = (event.time_ms - start) / 1_000 if start and event.time_ms else None
        # Metrics of one evaluation come in lines of their own.
        before = at.get(step, Evaluation(step, seconds, {}))
        at[step] = Evaluation(step, seconds, {**before.values, **found})
    yield from (at[step] for step in sorted(at))


def _values(event: Event, benchmark: Benchmark) -> dict[str, float]:
    names: tuple[str, ...] = (benchmark.metric, benchmark.also)
    values = event.value if isinstance(event.value, list) else [event.value]
    if isinstance(event.value, dict):
        values = [event.value.get(name) for name in ("BBOX", "SEGM")]
    named = (event.metadata or {}).get("metric")
    if named is not None:
        names = (names[_NAMED[named]],) if named in _NAMED else ()
    found = {}
    for name, value in zip(names, values, strict=False):
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise RefusedError(f"an evaluation has the value {value!r}") from error
        if name:
            found[name] = _as_metric(number, name)
    return found


def _as_metric(value: float, metric: str) -> float:
    """Return a value as a metric has it: BLEU as a share, and an error that is logged negative."""
    if metric == "val_bleu" and value > 1:
        return value / 100
    return abs(value) if metric == "val_mean_absolute_error" else value


def _steps(
    lines: Iterable[Event], benchmark: Benchmark, batch_size: int, setting: dict[str, Any]
) -> Iterator[int]:
    """Yield the updates before each evaluation, or before the last where that alone is known."""
    places = [_place(event) for event in lines]
    if not places:
        return
    samples = setting.get("train_samples")
    if benchmark.place == "trained" and places[-1] < _FEWEST_SAMPLES:
        # The evaluations are numbered, and train_samples is what the whole run took.
        if not samples or samples < _FEWEST_SAMPLES:
            raise RefusedError("its evaluations do not say where they were made")
        yield math.floor(samples / batch_size + 0.5)
        return
    epoch = None
    if benchmark.counts_epochs(places[-1]):
        epoch = _epoch(samples, benchmark, batch_size, places[-1])
    for event, place in zip(lines, places, strict=True):
        step = (event.metadata or {}).get("step_num")
        yield step if isinstance(step, int) else benchmark.steps(place, batch_size, epoch)


def _place(event: Event) -> float:
    metadata = event.metadata or {}
    place = metadata.get("samples_count", metadata.get("epoch_num", metadata.get("step_num")))
    try:
        found = float(place)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise RefusedError("its evaluations do not say where they were made")
    return found


def _epoch(samples: Any, benchmark: Benchmark, batch_size: int, last: float) -> float:
    """Return how many examples an epoch has, by the log's own numbers."""
    if not isinstance(samples, int | float) or samples <= 0:
        raise RefusedError("it counts epochs and has no train_samples")
    known = [samples, samples * batch_size]
    if benchmark.place == "second_epoch" and last > 1:
        # Most logs give what the whole run took.
        known.insert(0, samples / (last - 1))
    for examples in known:
        if abs(math.log(examples / (benchmark.train_examples or 1))) < _MOST_APART:
            return float(examples)
    raise RefusedError(f"its train_samples, {samples:,}, are not those of an epoch")
