"""The logs of other tools, each of the same two runs, read as they are."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import polars as pl
import pytest

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.sources.logs.events import read_tensorboard
from dbtool.sources.logs.log import named_settings
from dbtool.sources.logs.source import detected, guess_logs
from dbtool.sources.logs.stores import read_mlflow
from dbtool.sources.logs.trainers import in_updates, read_lightning, read_text
from tests.support.own_runs import query

# By step, the loss of the batch and, at an evaluation, the error on the validation split.
Values: TypeAlias = Sequence[tuple[int, float, float | None]]
RUNS: Mapping[str, Values] = {
    "lr=0.1": [(1, 0.9, None), (2, 0.7, 0.3), (3, 0.6, None), (4, 0.5, 0.08)],
    "lr=0.2": [(1, 0.8, None), (2, float("nan"), 0.5)],
}
METRICS = ("train_loss", "val_acc", "test_acc")
WORKLOAD = "digits/mlp/sgd"
Write: TypeAlias = Callable[[Path, str, Values], None]


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
        state = {"best_metric": None, "log_history": history, "train_batch_size": 8}
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


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The tool that wrote the logs of both runs into the folder `logs`."""
    name = str(request.param)
    (tmp_path / "logs").mkdir()
    for run, values in RUNS.items():
        TOOLS[name](tmp_path / "logs", run, values)
    return name


def test_each_tool_tells_the_same(tool: str, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(MAPPINGS.get(tool, ""))
    source = tool.removesuffix("_database")
    assert detected([tmp_path / "logs"]) == (None if tool == "text" else source)
    [report] = dbtool.ingest(
        tmp_path / "logs",
        tmp_path / "db",
        source="text" if tool == "text" else None,
        mapping=mapping,
        workload=WORKLOAD,
        batch_size=32,
    )
    assert (report.release, report.trials, report.studies) == ("logs", 2, 1)
    trials = "SELECT workload, batch_size, name, learning_rate, status FROM trials ORDER BY name"
    assert query(tmp_path, trials) == [
        (WORKLOAD, 32, "lr=0.1", 0.1, "COMPLETE"),
        (WORKLOAD, 32, "lr=0.2", 0.2, "INFEASIBLE"),
    ]
    rows = """
        SELECT step, round(batch_cross_entropy_error::DOUBLE, 6), val_classification_error
        FROM measurements JOIN trials USING (release, workload, batch_size, trial_id)
        WHERE name = 'lr=0.1' ORDER BY step
    """
    assert query(tmp_path, rows) == list(RUNS["lr=0.1"])
    last = """
        SELECT isfinite(batch_cross_entropy_error), val_classification_error
        FROM measurements JOIN trials USING (release, workload, batch_size, trial_id)
        WHERE name = 'lr=0.2' AND step = 2
    """
    assert query(tmp_path, last) == [(False, 0.5)]


@pytest.mark.parametrize("tool", ["mlflow_database", "keras", "text"], indirect=True)
def test_what_logs_do_not_state_is_one_sentence(tool: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        dbtool.ingest(tmp_path / "logs", tmp_path / "db", source=tool.removesuffix("_database"))
    [sentence] = error.value.args
    ways = ["--map"]
    if tool != "text":
        ways += ["--workload DATASET/MODEL/OPTIMIZER", "--batch-size N"]
    if tool == "keras":
        ways.append('step = { column = "epoch", times = N, plus = 1 }')
    assert [way for way in ways if way not in sentence] == []


def test_a_mapping_replaces_what_logs_suggest(tmp_path: Path) -> None:
    write_huggingface(tmp_path / "logs", "lr=0.1,batch_size=16,nesterov=True", RUNS["lr=0.1"])
    mapping = tmp_path / "mapping.toml"
    lines = guess_logs([tmp_path / "logs"], "huggingface").mapping
    assert 'val_classification_error = { column = "eval_accuracy", transform = "1 - x" }' in lines
    mapping.write_text(
        'release = "mine"\n[workload]\nmetric = "val_average_precision"\n[metaparameters]\n'
        'learning_rate = 0.3\n[metrics]\nval_average_precision = "eval_accuracy"\n'
    )
    dbtool.ingest(tmp_path / "logs", tmp_path / "db", mapping=mapping, workload="text/bert/adamw")
    best = "SELECT max(val_average_precision), count(val_classification_error) FROM measurements"
    assert query(tmp_path, best) == [(0.92, 0)]
    trials = "SELECT release, batch_size, settings FROM trials"
    settings = '{"learning_rate":0.3,"nesterov":true}'
    assert query(tmp_path, trials) == [("mine", 16, settings)]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lr=0.1-seed=1", {"lr": "0.1", "seed": "1"}),
        ("lr=1e-3-wd=-0.1", {"lr": "1e-3", "wd": "-0.1"}),
        ("lr=0.1+wd=0.2 b=3&c=4", {"lr": "0.1", "wd": "0.2", "b": "3", "c": "4"}),
        ("[lr=0.1,wd=0.2]/(opt.name=adam)", {"lr": "0.1", "wd": "0.2", "opt.name": "adam"}),
        ("hidden=[64,64],f=g(2)_lr=0.1", {"hidden": "[64,64]", "f": "g(2)", "lr": "0.1"}),
        ("exp__lr=0.1__wd=0.2", {"lr": "0.1", "wd": "0.2"}),
        ("a__lr=0.1__b__lr=0.2", {"lr": "0.1", "b__lr": "0.2"}),
        ("fn_ab_00000_0_lr=0.01,wd=0.1_2024-01-01_10-00-00", {"lr": "0.01", "wd": "0.1"}),
        ("lr=0%2E1,data=cifar_10_seed=1", {"lr": "0.1", "data": "cifar_10", "seed": "1"}),
        ("date=2024-01-01,lr=1", {"date": "2024-01-01", "lr": "1"}),
        ("run_1/x__y", {}),
    ],
)
def test_settings_in_a_name(name: str, settings: Mapping[str, str]) -> None:
    assert named_settings(name) == settings


def test_runs_that_names_alone_tell_apart_are_no_replicates(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write_tensorboard(tmp_path / "logs", f"lr=0.{number}-seed={number}", RUNS["lr=0.1"])
    dbtool.ingest(tmp_path / "logs", tmp_path / "db", workload=WORKLOAD, batch_size=8)
    rates = "SELECT learning_rate, seed FROM trials ORDER BY seed"
    assert query(tmp_path, rates) == [(0.1, 1), (0.2, 2), (0.3, 3)]


@pytest.mark.parametrize(("own", "steps"), [(2, 4), (4, 5), (6, 6)])
def test_the_state_of_the_largest_step_counts(tmp_path: Path, own: int, steps: int) -> None:
    write_huggingface(tmp_path, "a", RUNS["lr=0.1"])
    state = {"global_step": own, "log_history": [{"step": max(own, 5), "loss": 0.5}]}
    (tmp_path / "a" / "trainer_state.json").write_text(json.dumps(state))
    dbtool.ingest(tmp_path / "a", tmp_path / "db", workload=WORKLOAD, batch_size=8)
    assert query(tmp_path, "SELECT steps FROM trials") == [(steps,)]


@pytest.mark.parametrize(("first", "plus"), [(0, 1), (1, 0)])
def test_epochs_count_from_the_first(tmp_path: Path, first: int, plus: int) -> None:
    rows = "".join(f"{first + epoch},0.9,0.{5 + epoch}\n" for epoch in range(3))
    (tmp_path / "run.csv").write_text(f"epoch,loss,val_accuracy\n{rows}")
    added = ", plus = 1" if plus else ""
    assert (
        f'step = {{ column = "epoch", times = "?"{added} }}' in guess_logs([tmp_path], "keras")[0]
    )
    with pytest.raises(UsageError) as error:
        dbtool.ingest(tmp_path, tmp_path / "db", workload=WORKLOAD, batch_size=8)
    advice = f'{{ column = "epoch", times = N{added} }}'
    assert f"[files] step = {advice} in a mapping" in str(error.value)
    (tmp_path / "m.toml").write_text(f"[files]\nstep = {advice.replace('N', '10')}\n")
    dbtool.ingest(
        tmp_path / "run.csv",
        tmp_path / "db",
        source="keras",
        mapping=tmp_path / "m.toml",
        workload=WORKLOAD,
        batch_size=8,
    )
    assert query(tmp_path, "SELECT steps FROM trials") == [(30,)]


@pytest.mark.parametrize("write", [write_trackio, write_trackio_database])
def test_trackio_has_the_updates_that_were_logged(tmp_path: Path, write: Write) -> None:
    write(tmp_path, "lr=0.1", RUNS["lr=0.1"])
    for path in tmp_path.rglob("*.jsonl"):
        record = json.loads(path.read_text())
        record["metrics"]["train/global_step"] = 100 * record["step"]
        path.write_text(json.dumps(record, separators=(",", ":")) + "\n")
    if write is write_trackio_database:
        with closing(sqlite3.connect(tmp_path / "p.db")) as database, database:
            added = "json_set(metrics, '$.train/global_step', 100 * step)"
            database.execute(f"UPDATE metrics SET metrics = {added}")
    dbtool.ingest(tmp_path, tmp_path / "db", workload=WORKLOAD, batch_size=8)
    rows = "SELECT step, val_classification_error, other_metrics FROM measurements ORDER BY step"
    assert query(tmp_path, rows) == [(100 * s, error, None) for s, _, error in RUNS["lr=0.1"]]


def test_a_call_of_trackio_without_its_updates_is_refused(tmp_path: Path) -> None:
    write_trackio(tmp_path, "lr=1", [(1, 0.9, None), (2, 0.8, None)])
    path = tmp_path / "inbox" / "lr=1" / "00000000.jsonl"
    path.write_text(path.read_text().replace('"train/loss"', '"global_step":50,"train/loss"'))
    with pytest.raises(DbtoolError, match=r"1\.jsonl line 1: it has no global_step, which counts"):
        dbtool.ingest(tmp_path, tmp_path / "db", workload=WORKLOAD, batch_size=8)


def test_a_test_after_training_has_the_number_of_all_updates(tmp_path: Path) -> None:
    # As Lightning's CSVLogger numbers them: training and validation from 0, a test from 1.
    write_lightning(tmp_path, "v", [(50, 0.9, None), (100, 0.7, 0.3)])
    path = tmp_path / "v" / "metrics.csv"
    path.write_text(
        "epoch,step,train_loss,val_acc,test_acc\n" + "0,99,0.5,,\n0,99,,0.7,\n1,100,,,0.6"
    )
    dbtool.ingest(tmp_path / "v", tmp_path / "db", workload=WORKLOAD, batch_size=32)
    rows = "SELECT step, val_classification_error, test_classification_error FROM measurements"
    assert query(tmp_path, rows) == [(100, 0.3, 0.4)]


# As Lightning logs two epochs of 8 updates, each with a validation: the epoch, step and metric.
FIT = [(0, 3, "train_loss"), (0, 7, "train_loss"), (0, 7, "val_acc")]
FIT += [(1, 11, "train_loss"), (1, 15, "train_loss"), (1, 15, "val_acc")]
SPARSE = [(0, 7, "val_acc"), (1, 15, "val_acc")]
EACH = [(0, 0, "train_loss"), (0, 0, "val_acc"), (0, 1, "val_acc"), (0, 2, "val_acc")]
HALVES = [(0, 1, "val_acc"), (0, 3, "val_acc"), (1, 5, "val_acc"), (1, 7, "val_acc")]


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        (FIT, [8, 16]),
        ([(0, 0, "val_acc"), *FIT], [0, 8, 16]),
        ([*FIT, (2, 16, "val_acc")], [8, 16, 16]),
        ([(0, 0, "val_acc"), *SPARSE, (2, 16, "val_acc"), (2, 16, "test_acc")], [0, 8, 16, 16]),
        ([(0, 0, "val_acc"), *HALVES], [0, 2, 4, 6, 8]),
        (EACH, [1, 2, 3]),
        ([(epoch, epoch, "val_acc") for epoch in range(3)], [1, 2, 3]),
    ],
    ids=["fit", "before", "after", "sparse", "halves", "each update", "epochs of one update"],
)
def test_a_validation_outside_the_training_has_the_number_of_all_updates(
    tmp_path: Path, rows: Sequence[tuple[int, int, str]], steps: list[int]
) -> None:
    (tmp_path / "hparams.yaml").write_text("{}\n")
    lines = [
        ",".join([str(epoch), str(step), *("0.5" if name == each else "" for each in METRICS)])
        for epoch, step, name in rows
    ]
    path = tmp_path / "metrics.csv"
    path.write_text("\n".join([f"epoch,step,{','.join(METRICS)}", *lines, ""]))
    [run] = read_lightning(path)
    # As TensorBoard's, a run may be in several files.
    parts = [in_updates(part, run.rows) for part in run.rows.iter_slices(2)]
    assert [int(s) for s in pl.concat(parts).filter(metric="val_acc")["step"]] == steps


def test_lightning_through_mlflow_counts_batches(tmp_path: Path) -> None:
    logged = (
        (FIT, True),
        (SPARSE, True),
        (EACH, True),
        ([(0, 10, "val_acc"), (1, 20, "val_acc")], False),
    )
    for number, (rows, is_lightning) in enumerate(logged):
        run = tmp_path / str(number)
        (run / "metrics").mkdir(parents=True)
        (run / "meta.yaml").write_text("run_id: a\n")
        for epoch, step, name in rows:
            for metric, value in ((name, 0.5), ("epoch", epoch)):
                with (run / "metrics" / metric).open("a") as file:
                    file.write(f"{step} {value} {step}\n")
        [read] = read_mlflow(run / "meta.yaml")
        assert read.batches == is_lightning


def test_folders_of_tensorboard(tmp_path: Path) -> None:
    from tensorboardX import SummaryWriter

    settings = {"lr": 0.5, "batch_size": 64, "nesterov": False, "activation": "v2.0"}
    with SummaryWriter(str(tmp_path / "logs" / "a")) as writer:
        writer.add_scalar("loss", 0.25, 1)
        writer.add_scalars("score", {"val": 0.75}, 1)
        # A folder of its own, as is that of each curve.
        writer.add_hparams(settings, {"best": 0.1})
    for split, tag in (
        ("train", "epoch_loss"),
        ("validation", "evaluation_accuracy_vs_iterations"),
    ):
        with SummaryWriter(str(tmp_path / "logs" / "b" / split)) as writer:
            writer.add_scalar(tag, 0.5, 1)
            writer.add_hparams(settings | {"seed": 7}, {}, name="hparams")
    dbtool.ingest(tmp_path / "logs", tmp_path / "db", workload=WORKLOAD)
    trials = "SELECT name, batch_size, learning_rate, settings->>'activation' FROM trials"
    assert query(tmp_path, f"{trials} ORDER BY name")[0] == ("a", 64, 0.5, "v2.0")
    values = """
        SELECT
            step,
            batch_cross_entropy_error,
            val_classification_error,
            other_metrics->>'val/score'
        FROM measurements ORDER BY batch_cross_entropy_error
    """
    assert query(tmp_path, values) == [(1, 0.25, None, "0.75"), (1, None, 0.5, None)]


def test_a_run_that_went_on_from_a_checkpoint_has_one_branch(tmp_path: Path) -> None:
    from tensorboardX import SummaryWriter

    for number, steps in enumerate((range(1, 21), range(11, 16))):
        with SummaryWriter(str(tmp_path / "a"), filename_suffix=f".{number}") as writer:
            for step in steps:
                writer.add_scalar("loss", number, step)
    # Both files may have the time of the same second in their names.
    told: list[str] = []
    dbtool.ingest(
        tmp_path / "a",
        tmp_path / "db",
        workload=WORKLOAD,
        batch_size=8,
        on_message=told.append,
    )
    rows = "SELECT batch_cross_entropy_error, count(*) FROM measurements GROUP BY 1 ORDER BY 1"
    assert query(tmp_path, rows) == [(0, 10), (1, 5)]
    assert any("went on from an older checkpoint" in sentence for sentence in told)


def test_events_of_a_killed_process_are_read_to_the_last_whole_one(tmp_path: Path) -> None:
    write_tensorboard(tmp_path, "run", RUNS["lr=0.1"])
    [path] = (tmp_path / "run").iterdir()
    content = path.read_bytes()
    [whole] = read_tensorboard(path)
    counts = []
    for end in range(0, len(content) + 1, 7):
        path.write_bytes(content[:end])
        [part] = read_tensorboard(path)
        assert part.rows.equals(whole.rows.head(len(part.rows)))
        counts.append(len(part.rows))
    assert sorted(set(counts)) == list(range(len(whole.rows) + (counts[-1] == len(whole.rows))))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"trainer_state.json": "{"}, "trainer_state.json: it is not valid JSON"),
        ({"trainer_state.json": "[]"}, "trainer_state.json: it is not a JSON object"),
        ({"trainer_state.json": "{}"}, "trainer_state.json: it has no log_history"),
        ({"trainer_state.json": '{"log_history": []}'}, "the logs have no measurements"),
        ({"a.tfevents.1": "x" * 40}, "the logs have no measurements"),
        (
            {"meta.yaml": "run_id: a\n", "metrics/loss": "1 0.9 0\n2 0.8 0\n3 0.7 0\n"},
            "run 'a' has 3 values of 'loss' at one step: its steps were not logged",
        ),
        (
            {"meta.yaml": "run_id: a\n", "metrics/loss": "1 2\n"},
            "loss line 1: it is not a time, a value and a step",
        ),
        (
            {"metrics.csv": "e,loss\n1,2\n", "hparams.yaml": ""},
            "line 1: it has no column 'step'",
        ),
        ({"metrics.csv": "", "hparams.yaml": ""}, "the logs have no measurements"),
        (
            {"metrics.csv": "step,loss\n1,2\n", "hparams.yaml": "", "trainer_state.json": "{}"},
            "give one of --from huggingface, as of",
        ),
    ],
)
def test_logs_that_cannot_be_read(tmp_path: Path, files: Mapping[str, str], sentence: str) -> None:
    for name, text in files.items():
        (tmp_path / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "logs" / name).write_text(text)
    with pytest.raises(DbtoolError) as error:
        dbtool.ingest(tmp_path / "logs", tmp_path / "db", workload=WORKLOAD, batch_size=8)
    assert sentence in str(error.value)
    assert not (tmp_path / "db").exists()


@pytest.mark.parametrize(
    "form", ["loss {loss}", "{step}", "{step} {step} {loss}", "{step} {a} {a}"]
)
def test_forms_of_lines_that_are_none(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.log").write_text("iter 1 loss 2\n")
    (tmp_path / "m.toml").write_text(f'[files]\nline = "{form}"\n')
    with pytest.raises(UsageError, match=r"should have \{step\} and metrics in braces"):
        dbtool.ingest(tmp_path / "a.log", source="text", mapping=tmp_path / "m.toml")


def test_a_text_log_without_a_line_of_the_form_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text('[files]\nline = "iter {step}: loss {loss}"\n')
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("nothing here\n")
    told: list[str] = []

    def ingested() -> int:
        [report] = dbtool.ingest(
            tmp_path / "logs",
            tmp_path / "db",
            source="text",
            mapping=tmp_path / "m.toml",
            workload=WORKLOAD,
            batch_size=8,
            on_message=told.append,
        )
        return report.trials

    sentence = f"{tmp_path / 'logs' / 'a.log'}: no line has the form that files.line gives"
    with pytest.raises(DbtoolError) as error:
        ingested()
    assert str(error.value) == sentence
    (tmp_path / "logs" / "b.log").write_text("iter 5: loss 0.5\n")
    assert ingested() == 1
    assert sentence in told


FORM = "step {step} loss {loss}"


@pytest.mark.parametrize(
    ("text", "values", "cut"),
    [
        ("step 10 loss 0.5\nstep 20 loss 0.\n", ["0.5", "0."], False),
        ("step 10 loss 0.5\nstep 20 loss 0.", ["0.5"], True),
        ("step 10 loss 0.5\r\nstep 20 loss 0.2 done", ["0.5", "0.2"], False),
        ("step 1 loss Infinity\nstep 2 loss -inf\n", ["Infinity", "-inf"], False),
        ("step 1 loss 1.#INF\nstep 2 loss -1.#IND00\n", ["inf", "-nan"], False),
        ("step 1 loss NaN\nstep 2 loss 1,024.5\n", ["NaN", "1024.5"], False),
    ],
)  # fmt: skip
def test_numbers_of_a_text_log(tmp_path: Path, text: str, values: list[str], cut: bool) -> None:
    (tmp_path / "a.log").write_bytes(text.encode())
    [run] = read_text(tmp_path / "a.log", [FORM])
    assert run.rows["value"].to_list() == values
    assert ("left out" in run.note) == cut


def test_two_values_at_a_step_of_a_text_log_are_refused(tmp_path: Path) -> None:
    mapping = tmp_path / "m.toml"
    (tmp_path / "a.log").write_text(
        "Train step 10 loss 0.5\nTest step 10 loss 0.9\nTrain step 20 loss 0.25\n"
    )

    def ingested(line: str) -> list[tuple[object, ...]]:
        mapping.write_text(f"[files]\n{line}\n")
        dbtool.ingest(
            tmp_path / "a.log",
            tmp_path / "db",
            source="text",
            mapping=mapping,
            workload=WORKLOAD,
            batch_size=8,
        )
        return query(tmp_path, "SELECT batch_cross_entropy_error FROM measurements ORDER BY step")

    with pytest.raises(DbtoolError) as error:
        ingested(f'line = "{FORM}"')
    path = tmp_path / "a.log"
    assert str(error.value) == (
        f"{path} line 2, column 'loss': step 10 is there with another value at {path} line 1; give "
        "the forms in files.line more of the text that tells such lines apart, or choose one with "
        'files.repeated_steps = "first" or "last"'
    )
    assert ingested(f'line = "Train {FORM}"') == [(0.5,), (0.25,)]
