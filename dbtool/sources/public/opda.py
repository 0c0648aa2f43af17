"""Random searches with learning curves, as Lourie, Cho and He published them with opda."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dbtool.core.footer import Workload
from dbtool.sources.public.files import published_files
from dbtool.sources.public.runs import PublishedRun, RunsSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.core.footer import Scalar
    from dbtool.sources.base import Addition

_SEARCH = re.compile(r"(?:^|/)([\w-]+)_tuning\.results\.jsonl$")
_IMAGENET_EXAMPLES = 1_281_167
_MISMATCHED = "val_mismatched_classification_error"
_NAMES = {"lr": "learning_rate"}
_NO_SETTINGS = {
    "iteration",
    "nan_train_loss",
    "batch_size",
    "train_batch_size",
    "total_model_steps",
}


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
    is_images = "learning_curve" in line
    batch_size = line["batch_size" if is_images else "train_batch_size"]
    steps, values = _images(line, batch_size) if is_images else _texts(line)
    settings: dict[str, Scalar] = {
        _NAMES.get(name, name): value
        for name, value in line.items()
        if name not in _NO_SETTINGS and isinstance(value, bool | int | float | str)
    }
    return PublishedRun(
        _workload(model, is_images),
        batch_size,
        f"{model} {line['iteration']:05}",
        "INFEASIBLE" if line.get("nan_train_loss") else "COMPLETE",
        settings,
        steps,
        values,
        trained=line.get("total_model_steps"),
        search_space=_IMAGES if is_images else _TEXTS,
    )


def _workload(model: str, is_images: bool) -> Workload:
    dataset = "imagenet" if is_images else "multinli"
    optimizer = "sgd" if is_images else "adam"
    return Workload(
        workload=f"opda/{dataset}/{model.replace('-', '_')}/{optimizer}",
        collection="opda",
        dataset=dataset,
        model=model.replace("-", "_"),
        optimizer=optimizer,
        metric="val_classification_error",
        train_examples=_IMAGENET_EXAMPLES if is_images else None,
    )


def _images(line: dict[str, Any], batch_size: int) -> tuple[list[int], dict[str, list[float]]]:
    curve = line["learning_curve"]
    steps = [math.floor((at["epoch"] + 1) * _IMAGENET_EXAMPLES / batch_size + 0.5) for at in curve]
    return steps, {
        "val_classification_error": [_error(at["top_1"]) for at in curve],
        "val_top_5_classification_error": [_error(at["top_5"]) for at in curve],
        "train_cross_entropy_error": [at["train_loss"] for at in curve],
        "seconds": [at["time"] for at in curve],
    }


def _texts(line: dict[str, Any]) -> tuple[list[int], dict[str, list[float]]]:
    matched = dict(line["learning_curves"]["matched"])
    other = dict(line["learning_curves"]["mismatched"])
    steps = sorted(matched.keys() | other.keys())
    return [int(step) for step in steps], {
        "val_classification_error": [_error(matched.get(step, math.nan)) for step in steps],
        "val_mismatched_classification_error": [
            _error(other.get(step, math.nan)) for step in steps
        ],
    }


def _error(accuracy: float) -> float:
    # Accuracies of 50,000 or fewer examples are written as 32-bit numbers.
    return round(1 - accuracy, 7)
