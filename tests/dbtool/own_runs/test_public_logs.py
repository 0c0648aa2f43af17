"""The mappings of docs/public_logs.md, on made-up numbers in the layouts of the logs."""

import csv
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import dbtool
from tests.support.commands import caller
from tests.support.own_runs import query

DOCS = Path(__file__).parents[3] / "docs"
MAPPING = DOCS / "public_logs" / "algoperf.toml"
PAGE = (DOCS / "public_logs.md").read_text(encoding="utf-8")
# The columns of a log are those of its workload.
METRICS = {
    "imagenet_resnet": ("accuracy", "loss"),
    "criteo1tb": ("loss",),
    "ogbg": ("accuracy", "loss", "mean_average_precision"),
}
TIMES = ("score", "total_duration", "accumulated_submission_time", "accumulated_eval_time")


def write_run(
    folder: Path, task: str, trial: int, values: Mapping[int, Sequence[float]], number: int = 0
) -> None:
    """Writes a run as AlgoPerf logs it: a loss every 100 steps, and evaluations at some steps."""
    run_folder = folder / f"study_{number}" / f"{task}_jax" / f"trial_{trial}"
    run_folder.mkdir(parents=True)
    splits = ("train", "validation", "test")
    evaluated = [f"{split}/{name}" for split in splits for name in METRICS[task]]
    names = ["global_step", "grad_norm", "loss", *evaluated, "validation/num_examples", *TIMES]
    rows: list[dict[str, Any]] = [
        {"global_step": step, "grad_norm": 2.5, "loss": 0.75} for step in range(0, 400, 100)
    ]
    for step, of_metrics in values.items():
        row = {f"{split}/{name}": value for split in splits
               for name, value in zip(METRICS[task], of_metrics, strict=True)}  # fmt: skip
        rows.append({"global_step": step, **row, "validation/num_examples": 50_000.0, "score": 9.5})
    rows.append({"global_step": max(values), "score": 9.5})
    with (run_folder / "measurements.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, [*names, "accumulated_logging_time", "preemption_count"])
        table.writeheader()
        table.writerows(sorted(rows, key=lambda row: row["global_step"]))
    hparams = {"dropout_rate": 0.0, "label_smoothing": 0.1, "learning_rate": 0.001 * trial}
    hparams |= {"one_minus_beta1": 0.1, "beta2": 0.998, "weight_decay": 0.1, "warmup_factor": 0.02}
    (run_folder / "hparams.json").write_text(json.dumps(hparams))
    about = {"workload.num_train_examples": 1_281_167, "rng_seed": 17 * trial, "gpu.count": 8}
    (run_folder / "meta_data_0.json").write_text(json.dumps(about))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "baseline"
    # An accuracy of 0.77431 is the target, which counts when it is equalled.
    write_run(folder, "imagenet_resnet", 1, {1: (0.001, 6.9), 250: (0.77, 1.1), 390: (0.77431, 1)})
    write_run(folder, "imagenet_resnet", 2, {1: (0.001, 6.9), 250: (0.77, 1.1), 390: (0.774, 1)})
    write_run(folder, "criteo1tb", 1, {1: (0.7,), 200: (0.1237,), 390: (0.1236,)}, number=1)
    write_run(
        folder, "ogbg", 1, {1: (0.5, 0.7, 0.02), 200: (0.98, 0.05, 0.28), 350: (0.98, 0, 0.3)}
    )
    return folder


def test_logs_of_algoperf_become_a_release(logs, tmp_path, capsysbinary):
    call = caller(capsysbinary)
    [command] = re.findall(r"^dbtool (ingest .*/algoperf\.toml)$", PAGE, re.MULTILINE)
    files = {"baseline": str(logs), "docs/public_logs/algoperf.toml": str(MAPPING)}
    words = [files.get(word, word) for word in shlex.split(command)]
    assert call(*words, "--db", str(tmp_path / "db")).code == 0
    with dbtool.open(tmp_path / "db") as db:
        found = db.steps("*").sort("workload")
    assert found.select("workload", "batch_size", "steps", "trials").rows() == [
        ("algoperf/criteo_1tb/dlrm_small/nadamw", 262_144, 200, 1),
        ("algoperf/imagenet/resnet_50/nadamw", 1_024, 390, 2),
        ("algoperf/ogbg/gnn/nadamw", 512, 350, 1),
    ]
    trials = "SELECT name, learning_rate, label_smoothing, seed FROM trials WHERE batch_size = 1024"
    assert sorted(query(tmp_path, trials)) == [
        ("study_0/imagenet_resnet/trial_1", 0.001, 0.1, 17),
        ("study_0/imagenet_resnet/trial_2", 0.002, 0.1, 34),
    ]
    values = """
        SELECT step, val_classification_error, other_metrics['loss'], batch_cross_entropy_error
        FROM measurements
        WHERE batch_size = 1024 AND trial_id = 0 AND step IN (250, 300)
        ORDER BY step
    """
    assert query(tmp_path, values) == [(250, 0.23, None, None), (300, None, 0.75, None)]
    assert query(tmp_path, "SELECT licence FROM releases") == [("Apache-2.0",)]
    # The licence that the mapping says goes with what is published.
    words = ["publish", str(tmp_path / "db" / "algoperf-baseline"), "--out", str(tmp_path / "out")]
    assert call(*words).code == 0


def test_the_page_names_each_mapping():
    mappings = {path.name for path in (DOCS / "public_logs").iterdir()}
    assert mappings == set(re.findall(r"\(public_logs/(\w+\.toml)\)", PAGE))
