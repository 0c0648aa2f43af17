"""Repositories of runs as sources: opda's random searches, modded-nanogpt, and wav2vec 2.0."""

import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from dbtool.core.footer import Scalar
from dbtool.sources.base import Addition
from dbtool.sources.public.files import published_files
from dbtool.sources.public.runs import PublishedRun, RunsSource, workload_of

_SEARCH = re.compile(r"(?:^|/)([\w-]+)_tuning\.results\.jsonl$")
_IMAGENET_EXAMPLES = 1_281_167
_NO_SETTINGS = {
    *("iteration", "nan_train_loss", "batch_size", "train_batch_size", "total_model_steps")
}
_RESULT = re.compile(r"(?:^|/)results/(?:(\d{8}_)?([\w./-]+)/)?([^/]+)\.txt$")
_EVALUATION = re.compile(
    r"^step:(\d+)/(\d+)\s+val_loss:([\d.]+|nan|inf)(?:\s+train_time:([\d.]+)(m?s))?", re.MULTILINE
)
_BATCH_TOKENS = 524_288
_VALUES = re.compile(r"(?:^|/)(train_loss|val_acc|val_loss_contrastive)\.csv$")
_METRICS = {
    "train_loss": "train_contrastive_loss",
    "val_acc": "val_accuracy",
    "val_loss_contrastive": "val_contrastive_loss",
}
_AUDIO_SAMPLES = {"sec": 16_000, "min": 960_000}


def _range(
    least: float, most: float, scale: Literal["LINEAR_SCALE", "LOG_SCALE"]
) -> dict[str, Any]:
    return {"type": "DOUBLE", "min_value": least, "max_value": most, "scale_type": scale}


# As the READMEs beside the searches give them; learning rates there are peaks.
_IMAGES = {
    "learning_rate": _range(5e-3, 5e1, "LOG_SCALE"),
    "momentum": _range(0.7, 1.0, "LINEAR_SCALE"),
    "weight_decay": _range(1e-6, 1e-3, "LOG_SCALE"),
    "label_smoothing": _range(0.0, 0.5, "LINEAR_SCALE"),
}
_TEXTS = {
    "learning_rate": _range(1e-6, 1e-3, "LOG_SCALE"),
    "cls_drop_out": _range(0.0, 0.3, "LINEAR_SCALE"),
}


class OpdaSource(RunsSource):
    """Random searches of image and text classifiers; see `RunsSource`."""

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield the runs of one search after the other."""
        for name, found, contents in published_files(self.paths, _SEARCH, addition.on_progress):
            for number, line in enumerate(contents.splitlines(), start=1):
                try:
                    yield _run(found[1], msgspec.json.decode(line))
                except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
                    addition.report.leave_unused(str(error), f"{name}, line {number}")


def _run(model: str, line: dict[str, Any]) -> PublishedRun:
    trained, error = model.replace("-", "_"), "val_classification_error"
    if "learning_curve" in line:
        batch_size, curve = line["batch_size"], line["learning_curve"]
        examples = [(at["epoch"] + 1) * _IMAGENET_EXAMPLES for at in curve]
        steps = [math.floor(each / batch_size + 0.5) for each in examples]
        workload = workload_of(
            f"opda/imagenet/{trained}/sgd", error, train_examples=_IMAGENET_EXAMPLES
        )
        values = {
            error: [_error(at["top_1"]) for at in curve],
            "val_top_5_classification_error": [_error(at["top_5"]) for at in curve],
            "train_cross_entropy_error": [at["train_loss"] for at in curve],
            "seconds": [at["time"] for at in curve],
        }
        search_space = _IMAGES
    else:
        batch_size, curves = line["train_batch_size"], line["learning_curves"]
        matched, other = dict(curves["matched"]), dict(curves["mismatched"])
        places = sorted(matched.keys() | other.keys())
        steps = [int(place) for place in places]
        workload = workload_of(f"opda/multinli/{trained}/adam", error)
        values = {
            error: [_error(matched.get(place, math.nan)) for place in places],
            "val_mismatched_classification_error": [
                _error(other.get(place, math.nan)) for place in places
            ],
        }
        search_space = _TEXTS
    settings = dict[str, Scalar](
        ("learning_rate" if name == "lr" else name, value)
        for name, value in line.items()
        if name not in _NO_SETTINGS and isinstance(value, bool | int | float | str)
    )
    return PublishedRun(
        workload,
        batch_size,
        f"{model} {line['iteration']:05}",
        "INFEASIBLE" if line.get("nan_train_loss") else "COMPLETE",
        settings,
        steps,
        values,
        trained=line.get("total_model_steps"),
        search_space=search_space,
    )


def _error(accuracy: float) -> float:
    # Accuracies of 50,000 or fewer examples are written as 32-bit numbers.
    return round(1 - accuracy, 7)


class NanogptSource(RunsSource):
    """Optimizers to a validation loss of 3.28; see `RunsSource`."""

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield the runs of one log after the other."""
        for name, found, contents in published_files(self.paths, _RESULT, addition.on_progress):
            runs = list(_runs_in(found, contents.decode(errors="replace")))
            if not runs:
                addition.report.leave_unused("it has no evaluation", name)
            yield from runs


def _runs_in(found: re.Match[str], text: str) -> Iterator[PublishedRun]:
    """Yield the runs of a log; a step that is not larger than the one before begins another."""
    runs: list[list[tuple[str, ...]]] = []
    for line in _EVALUATION.findall(text):
        if not runs or int(line[0]) <= int(runs[-1][-1][0]):
            runs.append([])
        runs[-1].append(line)
    optimizer = (found[2] or "baseline").replace("/", "_")
    workload = workload_of(
        f"modded_nanogpt/fineweb/gpt2_124m/{optimizer}",
        "val_cross_entropy_error",
        goal=3.28,
        goal_inclusive=True,
    )
    for number, lines in enumerate(runs):
        scale = {"s": 1.0, "ms": 1e-3}
        yield PublishedRun(
            workload,
            _BATCH_TOKENS,
            f"{found[0].lstrip('/')}{f'#{number + 1}' if number else ''}",
            "COMPLETE",
            {"planned_steps": int(lines[0][1])},
            [int(line[0]) for line in lines],
            {
                "val_cross_entropy_error": [float(line[2]) for line in lines],
                "seconds": [float(line[3] or "nan") * scale.get(line[4], 1) for line in lines],
            },
        )


class Wav2vecSource(RunsSource):
    """Pre-training of wav2vec 2.0 at seven batch sizes; see `RunsSource`.

    A batch size is in samples of audio, 16,000 a second.
    """

    def runs(self, addition: Addition) -> Iterator[PublishedRun]:
        """Yield a run a batch size, after all files were read."""
        values: dict[int, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        for _, found, contents in published_files(self.paths, _VALUES, addition.on_progress):
            for line in csv.DictReader(contents.decode().splitlines()):
                length, unit = line["batch size"].split()
                batch_size = round(float(length) * _AUDIO_SAMPLES[unit])
                values[batch_size][int(line["step"])][_METRICS[found[1]]] = float(line["value"])
        workload = workload_of(
            "w2v2_batch_size/librispeech/wav2vec_2_base/adamw", "val_contrastive_loss"
        )
        for batch_size, by_step in values.items():
            steps = sorted(by_step)
            curves = {
                metric: [by_step[step].get(metric, math.nan) for step in steps]
                for metric in _METRICS.values()
            }
            yield PublishedRun(workload, batch_size, f"{batch_size}", "COMPLETE", {}, steps, curves)
