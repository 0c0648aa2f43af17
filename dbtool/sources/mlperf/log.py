"""MLPerf's logs: their lines, and the training runs that they tell.

A line is `:::MLLOG {json}`, or `:::MLL time key: {json}` as in v0.6.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dbtool.core.footer import Scalar, plain
from dbtool.sources.mlperf.benchmarks import Benchmark
from dbtool.sources.public.runs import PublishedRun

_LINE = re.compile(r":::MLLOG\s*(\{.*)")
_LINE_BEFORE_V07 = re.compile(
    r":::MLP?L?(?:v[\d.]+)?\s+(?:\[?\w+\]?\s+)?(\d+\.\d+)\s+(?:\([^)]*\)\s+)?(\w+)(?::\s*(.*))?$"
)
_MARK = ":::MLP", ":::MLL"
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
_NO_PLACE = "its evaluations do not say where they were made"
_SECONDS = "seconds"


class RefusedError(ValueError):
    """A log is not a run that steps to a result can be counted of; the message says why."""


class Event(msgspec.Struct, frozen=True):
    """A line of a log, with a key such as eval_accuracy; its time is in ms since 1970."""

    key: str
    value: Any = None
    metadata: dict[str, Any] | None = None
    time_ms: float = 0


class _Value(msgspec.Struct):
    value: Any = None
    metadata: dict[str, Any] | None = None


_event = msgspec.json.Decoder(Event, strict=False)
_value = msgspec.json.Decoder(_Value, strict=False)


def runs_in(lines: Iterable[str]) -> Iterator[list[Event]]:
    """Yield the events of each run of a log; a second `run_start` begins another run.

    Raises:
        ValueError, msgspec.MsgspecError: a line is damaged.
    """
    setting: list[Event] = []
    run: list[Event] = []
    for event in filter(None, map(_event_of, lines)):
        if event.key == "run_start":
            if run:
                yield run
            run = [*setting, event]
        elif run:
            run.append(event)
        else:
            setting.append(event)
    yield run or setting


def _event_of(line: str) -> Event | None:
    """Return the event of a line; None for a line of another kind."""
    if match := _LINE.search(line):
        return _event.decode(match[1])
    if match := _LINE_BEFORE_V07.search(line):
        written = _value.decode(match[3]) if match[3] else _Value()
        return Event(match[2], written.value, written.metadata, float(match[1]) * 1_000)
    if any(mark in line for mark in _MARK):
        raise ValueError("it has the mark of a log and not its form")
    return None


def logged_run(
    events: Sequence[Event], benchmark: Benchmark, name: str, settings: Mapping[str, Scalar]
) -> PublishedRun:
    """Return the run of a log's events, with the settings that are known beside them.

    It is INFEASIBLE where it ended without a finite value. A run that gave up counts as one that
    was trained to its end and missed the goal.

    Raises:
        RefusedError: it has no batch size, no evaluation, or not where its evaluations were made.
    """
    setting = {event.key: event.value for event in reversed(events)}
    batch_size = setting.get("global_batch_size")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise RefusedError("it has no batch size")
    start = next((event.time_ms for event in events if event.key == "run_start"), None)
    lines = [event for event in events if event.key in _EVALUATIONS]
    values = [_values(event, benchmark) for event in lines]
    steps = list(_steps(lines, benchmark, batch_size, setting))
    if not steps:
        raise RefusedError("it has no evaluation")
    at: dict[int, dict[str, float]] = defaultdict(dict)
    for event, found, step in zip(lines[-len(steps) :], values[-len(steps) :], steps, strict=True):
        seconds = (event.time_ms - start) / 1_000 if start and event.time_ms else math.nan
        # Metrics of one evaluation come in lines of their own.
        at[step] |= {**found, _SECONDS: seconds}
    names = sorted({name for found in at.values() for name in found})
    curves = {name: [at[step].get(name, math.nan) for step in sorted(at)] for name in names}
    if any(map(math.isnan, curves[_SECONDS])):
        del curves[_SECONDS]
    seed = setting.get("seed")
    metaparameters = _metaparameters(setting)
    is_finite = benchmark.metric in curves and math.isfinite(curves[benchmark.metric][-1])
    return PublishedRun(
        benchmark.described(is_open=metaparameters.get("division") == "open"),
        batch_size,
        name,
        "COMPLETE" if is_finite else "INFEASIBLE",
        {**settings, **metaparameters},
        sorted(at),
        curves,
        seed if isinstance(seed, int) and abs(seed) < 2**63 else None,
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


def _values(event: Event, benchmark: Benchmark) -> dict[str, float]:
    """Return the values of metrics in a line."""
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
        if name == "val_bleu" and number > 1:
            number /= 100
        elif name == "val_mean_absolute_error":
            # Some logs have the negative of the error.
            number = abs(number)
        if name:
            found[name] = number
    return found


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
            raise RefusedError(_NO_PLACE)
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
        raise RefusedError(_NO_PLACE)
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
