"""Logs of other tools with two made-up runs, as the tools write them, and a way to add them."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import dbtool
from dbtool.sources.base import Report

# By step, the loss of the batch and, at an evaluation, the error on the validation split.
Values: TypeAlias = Sequence[tuple[int, float, float | None]]
RUNS: Mapping[str, Values] = {
    "lr=0.1": [(1, 0.9, None), (2, 0.7, 0.3), (3, 0.6, None), (4, 0.5, 0.08)],
    "lr=0.2": [(1, 0.8, None), (2, float("nan"), 0.5)],
}
WORKLOAD = "digits/mlp/sgd"
Write: TypeAlias = Callable[[Path, str, Values], None]


def ingest(folder: Path, name: str = "", *, mapping: str | None = None, **options: Any) -> Report:
    """Adds the logs of that name in a folder to `db` there; the mapping is the text of one."""
    if mapping is not None:
        options["mapping"] = folder / "m.toml"
        options["mapping"].write_text(mapping)
    known: dict[str, Any] = {"workload": WORKLOAD, "batch_size": 8}
    [report] = dbtool.ingest(folder / name, folder / "db", **known | options)
    return report


def accuracy(error: float) -> float:
    return round(1 - error, 6)


def as_json(**values: object) -> str:
    """As most tools write it: without what is missing, and NaN as it is."""
    return json.dumps({name: value for name, value in values.items() if value is not None})


def write_tensorboard(folder: Path, name: str, values: Values) -> None:
    from tensorboardX import SummaryWriter

    with SummaryWriter(str(folder / name)) as writer:
        writer.add_text("about", "a text is not a measurement")
        for step, loss, error in values:
            writer.add_scalar("train/loss", loss, step)
            if error is not None:
                writer.add_scalar("val/accuracy", accuracy(error), step)


def write_huggingface(folder: Path, name: str, values: Values) -> None:
    history: list[dict[str, object]] = []
    for step, loss, error in values:
        history.append({"loss": loss, "learning_rate": 0.1, "epoch": 0.5, "step": step})
        if error is not None:
            evaluation = {"eval_accuracy": accuracy(error), "eval_runtime": 2.5}
            history.append({**evaluation, "epoch": 0.5, "step": step})
        # The state of an earlier checkpoint is part of the later ones.
        checkpoint = folder / name / f"checkpoint-{step}"
        checkpoint.mkdir(parents=True)
        state = {"best_metric": None, "log_history": history, "train_batch_size": 8, "max_steps": 4}
        (checkpoint / "trainer_state.json").write_text(json.dumps(state, indent=2))


def write_mlflow(folder: Path, name: str, values: Values) -> None:
    run = folder / "mlruns" / "0" / name.replace("=", "_")
    for part in ("metrics/train", "params", "metrics/val"):
        (run / part).mkdir(parents=True)
    (run / "meta.yaml").write_text(f"run_id: {name}\nstatus: 3\nlifecycle_stage: active\n")
    (run / "params" / "lr").write_text(name.removeprefix("lr="))
    losses = [f"1700000000{step} {loss} {step}\n" for step, loss, _ in values]
    errors = [f"1700000000{s} {accuracy(e)} {s}\n" for s, _, e in values if e is not None]
    (run / "metrics" / "train" / "loss").write_text("".join(losses))
    (run / "metrics" / "val" / "accuracy").write_text("".join(errors))


def write_mlflow_database(folder: Path, name: str, values: Values) -> None:
    with closing(sqlite3.connect(folder / "mlflow.db")) as database, database:
        database.executescript(
            """
            CREATE TABLE IF NOT EXISTS runs(run_uuid, status, lifecycle_stage, start_time);
            CREATE TABLE IF NOT EXISTS params(run_uuid, key, value);
            CREATE TABLE IF NOT EXISTS metrics(run_uuid, timestamp, step, key, value, is_nan);
            """
        )
        runs = [(name, "FINISHED", "active", 0), ("gone", "FINISHED", "deleted", 0)]
        database.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", runs)
        database.execute("INSERT INTO params VALUES (?, 'lr', ?)", (name, name[3:]))
        for step, loss, error in values:
            shown = 0.0 if loss != loss else loss  # noqa: PLR0124 (NaN)
            rows = [(name, step, step, "train/loss", shown, loss != loss)]  # noqa: PLR0124
            if error is not None:
                rows.append((name, step, step, "val/accuracy", accuracy(error), False))
            database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)


def write_lightning(folder: Path, name: str, values: Values) -> None:
    (folder / name).mkdir()
    rows = ["epoch,step,train_loss,val_acc"]
    for step, loss, error in values:
        rows.append(f"0,{step - 1},{loss},")
        if error is not None:
            rows.append(f"0,{step - 1},,{accuracy(error)}")
    (folder / name / "metrics.csv").write_text("\n".join(rows) + "\n")
    (folder / name / "hparams.yaml").write_text("{}\n")


def write_keras(folder: Path, name: str, values: Values) -> None:
    rows = ["epoch;loss;val_accuracy"]
    for step, loss, error in values:
        rows.append(f"{step - 1};{loss};{'NA' if error is None else accuracy(error)}")
    (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")


def write_levanter(folder: Path, name: str, values: Values) -> None:
    begin = {"tracker": "json_logger"}
    lines = [
        json.dumps({**begin, "event": "hparams", "hparams": {"optimizer": {"lr": float(name[3:])}}})
    ]
    for step, loss, error in values:
        metrics = {"train/loss": loss, "grad": {"histogram": [1, 2]}}
        if error is not None:
            metrics["eval/accuracy"] = accuracy(error)
        lines.append(json.dumps({**begin, "event": "log", "step": step, "metrics": metrics}))
    lines.append(json.dumps({**begin, "event": "finish", "summary": {}})[:-9])
    text = "\n".join(f"2026-01-01 - levanter.json_logger - INFO :: {line}" for line in lines)
    (folder / f"{name}.log").write_text(text)


def write_trackio(folder: Path, name: str, values: Values) -> None:
    records = []
    for step, loss, error in values:
        metrics = {"train/loss": "NaN" if loss != loss else loss}  # noqa: PLR0124
        if error is not None:
            metrics["val/accuracy"] = accuracy(error)
        record = {"v": 1, "kind": "metric", "project": "p", "run": name, "run_id": f"id {name}"}
        config = {"lr": float(name[3:]), "_Username": None} if step == 1 else None
        records.append({**record, "metrics": metrics, "step": step, "config": config})
    for number, record in enumerate(records):
        path = folder / "inbox" / name / f"{number:08}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, separators=(",", ":")) + "\n")


def write_trackio_database(folder: Path, name: str, values: Values) -> None:
    with closing(sqlite3.connect(folder / "p.db")) as database, database:
        database.executescript(
            """
            CREATE TABLE IF NOT EXISTS metrics(id INTEGER PRIMARY KEY, run_id, run_name, step,
                metrics);
            CREATE TABLE IF NOT EXISTS configs(run_id, config);
            CREATE TABLE IF NOT EXISTS system_metrics(id);
            """
        )
        config = json.dumps({"lr": float(name[3:]), "_Group": None})
        database.execute("INSERT INTO configs VALUES (?, ?)", (name, config))
        for step, loss, error in values:
            nested = None if error is None else {"accuracy": accuracy(error)}
            metrics = as_json(loss=loss, val=nested)
            into = "INSERT INTO metrics(run_id, run_name, step, metrics) VALUES (?, ?, ?, ?)"
            database.execute(into, (name, name, step, metrics))


def write_text(folder: Path, name: str, values: Values) -> None:
    lines = ["compiling, which takes 1 minute"]
    for step, loss, error in values:
        lines.append(f"12:00:00 iter  {step:,}: loss {loss}, time 7ms")
        if error is not None:
            lines.append(f"12:00:00 eval[{step:>4}]: accuracy {accuracy(error)}")
    (folder / f"{name}.log").write_text("\n".join([*lines, ""]))


TOOLS: Mapping[str, Write] = {
    name.removeprefix("write_"): write
    for name, write in globals().items()
    if name.startswith("write_")
}
# What a person says of a tool whose logs do not.
MAPPINGS = {
    "keras": '[files]\nstep = { column = "epoch", times = 1, plus = 1 }\n',
    "text": '[files]\nline = ["iter {step}: loss {loss},", "eval[{step}]: accuracy {val_acc}"]\n',
}
