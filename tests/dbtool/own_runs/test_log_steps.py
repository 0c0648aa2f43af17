"""The steps of logs are updates, however their tools count."""

import json

import polars as pl
import pytest

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.sources.logs.source import guess_logs
from dbtool.sources.logs.stores import read_mlflow
from dbtool.sources.logs.trainers import of_batches, read_lightning
from tests.support.logs import RUNS, ingest, write_huggingface, write_trackio
from tests.support.own_runs import query

METRICS = ("train_loss", "val_acc", "test_acc")


@pytest.mark.parametrize(("own", "steps"), [(2, 4), (4, 5)])
def test_the_state_of_the_largest_step_counts(tmp_path, own, steps):
    write_huggingface(tmp_path, "a", RUNS["lr=0.1"])
    state = {"global_step": own, "log_history": [{"step": max(own, 5), "loss": 0.5}]}
    (tmp_path / "a" / "trainer_state.json").write_text(json.dumps(state))
    ingest(tmp_path, "a")
    assert query(tmp_path, "SELECT steps FROM trials") == [(steps,)]


@pytest.mark.parametrize(("first", "plus"), [(0, 1), (1, 0)])
def test_epochs_count_from_the_first(tmp_path, first, plus):
    rows = "".join(f"{first + epoch},0.9,0.{5 + epoch}\n" for epoch in range(3))
    (tmp_path / "run.csv").write_text(f"epoch,loss,val_accuracy\n{rows}")
    added = ", plus = 1" if plus else ""
    guessed = guess_logs([tmp_path], "keras")[0]
    assert f'step = {{ column = "epoch", times = "?"{added} }}' in guessed
    with pytest.raises(UsageError) as error:
        ingest(tmp_path)
    advice = f'{{ column = "epoch", times = N{added} }}'
    assert f"[files] step = {advice} in a mapping" in str(error.value)
    mapping = f"[files]\nstep = {advice.replace('N', '10')}\n"
    ingest(tmp_path, "run.csv", source="keras", mapping=mapping)
    assert query(tmp_path, "SELECT steps FROM trials") == [(30,)]


def test_trackio_has_the_updates_that_were_logged(tmp_path):
    write_trackio(tmp_path, "lr=0.1", RUNS["lr=0.1"])
    fragments = sorted(tmp_path.rglob("*.jsonl"))
    for path in fragments:
        record = json.loads(path.read_text())
        record["metrics"]["train/global_step"] = 100 * record["step"]
        path.write_text(json.dumps(record, separators=(",", ":")) + "\n")
    ingest(tmp_path)
    rows = "SELECT step, val_classification_error, other_metrics FROM measurements ORDER BY step"
    assert query(tmp_path, rows) == [(100 * s, error, None) for s, _, error in RUNS["lr=0.1"]]
    # A call without them has no place among the others.
    last = fragments[-1]
    last.write_text(last.read_text().replace('"train/global_step"', '"other"'))
    with pytest.raises(DbtoolError, match="line 1: it has no train/global_step, which counts"):
        ingest(tmp_path)


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
def test_a_validation_outside_the_training_has_the_number_of_all_updates(tmp_path, rows, steps):
    (tmp_path / "hparams.yaml").write_text("{}\n")
    lines = [
        ",".join([str(epoch), str(step), *("0.5" if name == each else "" for each in METRICS)])
        for epoch, step, name in rows
    ]
    path = tmp_path / "metrics.csv"
    path.write_text("\n".join([f"epoch,step,{','.join(METRICS)}", *lines, ""]))
    [run] = read_lightning(path)
    # As TensorBoard's, a run may be in several files.
    parts = [of_batches(part, run.rows) for part in run.rows.iter_slices(2)]
    found = pl.concat(parts)
    assert [int(step) for step in found.filter(metric="val_acc")["step"]] == steps
    # A test has the number of all updates, too.
    assert set(found.filter(metric="test_acc")["step"]) <= {"16"}


def test_lightning_through_mlflow_counts_batches(tmp_path):
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
        assert (read.at_updates is not None) == is_lightning


def test_a_run_that_went_on_from_a_checkpoint_has_one_branch(tmp_path):
    from tensorboardX import SummaryWriter

    for number, steps in enumerate((range(1, 21), range(11, 16))):
        with SummaryWriter(str(tmp_path / "a"), filename_suffix=f".{number}") as writer:
            for step in steps:
                writer.add_scalar("loss", number, step)
    # Both files may have the time of the same second in their names.
    told: list[str] = []
    ingest(tmp_path, "a", on_message=told.append)
    rows = "SELECT batch_cross_entropy_error, count(*) FROM measurements GROUP BY 1 ORDER BY 1"
    assert query(tmp_path, rows) == [(0, 10), (1, 5)]
    assert any("went on from an older checkpoint" in sentence for sentence in told)
