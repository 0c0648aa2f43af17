"""Small folders of runs in the layouts in which other tools write them, with made-up numbers.

The layouts are those of the tools; every number in them follows from a rule of ours.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

Write: TypeAlias = Callable[[Path], None]
STEPS = range(0, 60, 10)
TASKS = (
    *("criteo1tb", "fastmri", "imagenet_resnet", "imagenet_vit", "librispeech_conformer"),
    *("librispeech_deepspeech", "mnist", "ogbg", "wmt", "wmt_glu"),
)


def _error(rate: float, step: int) -> float:
    return round(0.9 / (1 + rate * step), 6)


def _csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(name for row in rows for name in row)
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(names))
        table.writeheader()
        table.writerows(rows)


def _jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def algoperf(folder: Path) -> None:
    """100 runs as the logger of the AlgoPerf benchmark writes them, in two studies."""
    for study, (at, task), trial in (
        (study, each, trial)
        for study in ("study_0", "study_1")
        for each in enumerate(TASKS)
        for trial in range(1, 6)
    ):
        run = folder / study / f"{task}_jax" / f"trial_{trial}"
        rate = 0.01 * trial + 0.001 * at
        rows: list[dict[str, Any]] = []
        for step in STEPS:
            rows.append(
                {"loss": _error(rate, step) * 2, "grad_norm": 1 + step, "global_step": step}
            )
            rows.append(
                {
                    "train/accuracy": 1 - _error(rate, step),
                    "train/loss": _error(rate, step) * 2,
                    "validation/accuracy": round(1 - _error(rate, step), 6),
                    "validation/loss": _error(rate, step) * 2.5,
                    "validation/num_examples": 10_000,
                    "score": 3.5 * step,
                    "total_duration": 3.5 * step + 1,
                    "accumulated_submission_time": 3.5 * step,
                    "global_step": step,
                    "preemption_count": 0,
                }
            )
        _csv(run / "measurements.csv", rows)
        _csv(run / "eval_measurements.csv", rows[1::2])
        hparams = {
            "learning_rate": rate,
            "one_minus_beta1": 0.1,
            "weight_decay": 0.02 * trial,
            "warmup_factor": 0.05,
            "nesterov": trial % 2 == 0,
            "schedule": "cosine" if trial < 3 else "linear",
        }
        about = {
            "workload.num_train_examples": 1000 * (at + 1),
            "workload.validation_target_value": 0.7,
            "workload.eval_batch_size": 128,
            "rng_seed": 17 * trial,
            "git_branch": "main",
            "gpu_model_name": "made up",
            "gpu_driver": None,
        }
        (run / "hparams.json").write_text(json.dumps(hparams, indent=2))
        (run / "meta_data_0.json").write_text(json.dumps(about, indent=2))
        flags = {"workload": task, "global_batch_size": 64, "tuning_search_space": "space.json"}
        (run / "flags_0.json").write_text(json.dumps(flags, indent=2))


def _wandb() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    runs, history = [], []
    for number in range(4):
        config = {"arch": "resnet8", "optimizer": "SGD", "lr": 0.1 * (number + 1), "batch_size": 64}
        config |= {"dataset": "cifar10", "augment": True, "seed": number}
        name, run_id = f"brisk-lake-{number}", f"x{number}f3"
        state = "crashed" if number == 3 else "finished"
        runs.append({"id": run_id, "name": name, "state": state, "config": config})
        for step in STEPS:
            row = {"run": run_id, "_step": step, "_runtime": step * 0.5, "_timestamp": 1.7e9 + step}
            row |= {"epoch": step / 10, "train/loss": _error(0.1 * number, step) * 2}
            if step % 20 == 0:
                row |= {"val/accuracy": 1 - _error(0.1 * number, step)}
                row |= {"val/loss": _error(0.1 * number, step) * 2.5}
            history.append(row)
    return runs, history


def wandb_jsonl(folder: Path) -> None:
    """A table of runs and their whole history, as docs/your_own_runs.md exports them."""
    runs, history = _wandb()
    _jsonl(folder / "runs.jsonl", runs)
    _jsonl(folder / "history.jsonl", history)


def wandb_csv(folder: Path) -> None:
    """The same as CSV, the configuration in columns of its own."""
    runs, history = _wandb()
    flat = [
        {"id": run["id"], "name": run["name"], "state": run["state"]}
        | {f"config.{key}": value for key, value in run["config"].items()}
        for run in runs
    ]
    _csv(folder / "runs.csv", flat)
    _csv(folder / "history.csv", history)


def tensorboard(folder: Path) -> None:
    """Scalars that the web interface of TensorBoard downloads, in a folder a tag."""
    for rate in ("0.1", "0.3"):
        for size in (8, 32):
            for tag, factor in (("val_error", 1.0), ("train_loss", 2.0)):
                rows = [
                    {
                        "Wall time": 1.7e9 + step,
                        "Step": step,
                        "Value": float(np.float32(_error(float(rate), step) * factor)),
                    }
                    for step in STEPS
                ]
                _csv(folder / tag / f"sgd_bs_{size}_lr_{rate}.csv", rows)


def tensorboard_scalars(folder: Path) -> None:
    """The long table that tbparse makes of event files."""
    rows = [
        {"step": step, "tag": tag, "value": _error(rate, step), "dir_name": f"lr{rate}/version_0"}
        for rate in (0.1, 0.3)
        for tag in ("loss/train", "error/val")
        for step in STEPS
    ]
    _csv(folder / "scalars.csv", rows)


def pandas_long(folder: Path) -> None:
    """A data frame of a sweep: a row a step, and what a run was in every row."""
    rows = [
        {
            "": number,
            "dataset": "digits",
            "model": "mlp",
            "optimizer": optimizer,
            "lr": rate,
            "batch_size": size,
            "nesterov": optimizer == "momentum",
            "seed": 0,
            "step": step,
            "train_loss": _error(rate, step) * 2,
            "val_error": _error(rate, step),
        }
        for number, (optimizer, rate, size, step) in enumerate(
            (optimizer, rate, size, step)
            for optimizer in ("sgd", "momentum")
            for rate in (0.1, 0.3)
            for size in (8, 32)
            for step in STEPS
        )
    ]
    _csv(folder / "results.csv", rows)


def pandas_parquet(folder: Path) -> None:
    """The same as Parquet, with the validation error at every other step alone."""
    pandas_long(folder)
    frame = pl.read_csv(folder / "results.csv").drop("")
    seldom = pl.when(pl.col("step") % 20 == 10).then(pl.col("val_error"))
    frame.with_columns(seldom.alias("val_error")).write_parquet(folder / "results.parquet")
    (folder / "results.csv").unlink()


def keras(folder: Path) -> None:
    """A log of Keras' CSVLogger a run: averages over each epoch."""
    for rate in ("0.1", "0.01"):
        for seed in (1, 2):
            rows = [
                {
                    "epoch": epoch,
                    "accuracy": 1 - _error(float(rate), epoch + 1),
                    "loss": _error(float(rate), epoch) * 2,
                    "val_accuracy": round(1 - _error(float(rate), epoch + 1), 6),
                    "val_loss": _error(float(rate), epoch + 1) * 2,
                }
                for epoch in range(5)
            ]
            _csv(folder / f"lr={rate}_seed={seed}.csv", rows)


def lightning(folder: Path) -> None:
    """What PyTorch Lightning's CSVLogger and save_hyperparameters write."""
    for version in range(3):
        run = folder / "lightning_logs" / f"version_{version}"
        rate = 0.1 * (version + 1)
        rows: list[dict[str, Any]] = []
        for step in (each + 9 for each in STEPS):
            rows.append({"epoch": step // 20, "step": step, "train_loss_step": _error(rate, step)})
            if step % 20 == 19:
                found = {"val_acc": 1 - _error(rate, step), "val_loss": _error(rate, step) * 2}
                rows.append({"epoch": step // 20, "step": step, **found})
        _csv(run / "metrics.csv", rows)
        (run / "hparams.yaml").write_text(
            f"lr: {rate}\nbatch_size: 32\noptimizer: adam\nuse_bias: true\ndropout: null\n"
            "encoder:\n  layers: 3\n  activation: relu\n"
        )


LAYOUTS: Mapping[str, Write] = {
    write.__name__: write
    for write in (
        algoperf,
        wandb_jsonl,
        wandb_csv,
        tensorboard,
        tensorboard_scalars,
        pandas_long,
        pandas_parquet,
        keras,
        lightning,
    )
}
