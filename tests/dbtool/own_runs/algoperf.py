"""Logs of the AlgoPerf benchmark, on made-up numbers."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The columns of a log are those of its workload.
METRICS = {
    "imagenet_resnet": ("accuracy", "loss"),
    "criteo1tb": ("loss",),
    "ogbg": ("accuracy", "loss", "mean_average_precision"),
}
TIMES = ("score", "total_duration", "accumulated_submission_time", "accumulated_eval_time")


def write_logs(folder: Path) -> None:
    """Writes four runs of three workloads in two studies."""
    # An accuracy of 0.77431 is the target, which counts when it is equalled.
    _write(folder, "imagenet_resnet", 1, {1: (0.001, 6.9), 250: (0.77, 1.1), 390: (0.77431, 1)})
    _write(folder, "imagenet_resnet", 2, {1: (0.001, 6.9), 250: (0.77, 1.1), 390: (0.774, 1)})
    _write(folder, "criteo1tb", 1, {1: (0.7,), 200: (0.1237,), 390: (0.1236,)}, number=1)
    _write(folder, "ogbg", 1, {1: (0.5, 0.7, 0.02), 200: (0.98, 0.05, 0.28), 350: (0.98, 0, 0.3)})


def _write(
    folder: Path, task: str, trial: int, values: Mapping[int, Sequence[float]], number: int = 0
) -> None:
    """Writes a run as AlgoPerf logs it: a loss every 100 steps, and evaluations at some steps."""
    run = folder / f"study_{number}" / f"{task}_jax" / f"trial_{trial}"
    run.mkdir(parents=True)
    evaluations: list[dict[str, Any]] = []
    for step, of_metrics in values.items():
        row = {f"{split}/{name}": value for split in ("train", "validation", "test")
               for name, value in zip(METRICS[task], of_metrics, strict=True)}  # fmt: skip
        row |= {"validation/num_examples": 50_000.0, "score": 9.5}
        evaluations.append({"global_step": step, **row})
    rows: list[dict[str, Any]] = [
        {"global_step": step, "grad_norm": 2.5, "loss": 0.75} for step in range(0, 400, 100)
    ]
    rows += [*evaluations, {"global_step": max(values), "score": 9.5}]
    names = ["global_step", "grad_norm", "loss", *evaluations[0], *TIMES, "preemption_count"]
    for name, lines in (("measurements", rows), ("eval_measurements", evaluations)):
        with (run / f"{name}.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(dict.fromkeys(names)))
            table.writeheader()
            table.writerows(sorted(lines, key=lambda row: row["global_step"]))
    hparams = {"dropout_rate": 0.0, "label_smoothing": 0.1, "learning_rate": 0.001 * trial}
    hparams |= {"one_minus_beta1": 0.1, "beta2": 0.998, "weight_decay": 0.1, "warmup_factor": 0.02}
    beside: dict[str, dict[str, Any]] = {
        "hparams": hparams,
        "meta_data_0": {
            "workload.num_train_examples": 1_281_167, "rng_seed": 17 * trial, "gpu_driver": None,
        },
        "flags_0": {"workload": task, "global_batch_size": 64},
    }  # fmt: skip
    for name, contents in beside.items():
        (run / f"{name}.json").write_text(json.dumps(contents, indent=2))
