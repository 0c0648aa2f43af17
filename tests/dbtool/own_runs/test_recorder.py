"""Trials that training loops record while they run, by themselves or by a trainer's callbacks."""

import contextlib
import math
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.sources.recorder import recover
from tests.support.own_runs import query

WHAT: dict[str, Any] = {"workload": "digits/mlp/sgd", "batch_size": 64}
TRIALS = "SELECT trial_id, status, steps, seed, settings FROM trials ORDER BY trial_id"
ROWS = "SELECT trial_id, step, val_classification_error FROM measurements ORDER BY ALL"


def journal(release: Path) -> Path:
    """The only journal of a release."""
    [path] = (release / ".records").glob("*.jsonl")
    return path


def test_trials_are_recorded_at_the_same_time(tmp_path):
    release = tmp_path / "db" / "runs"
    settings = {"learning_rate": 0.1, "nesterov": True}
    with (
        dbtool.record(release, **WHAT, seed=1, metaparameters=settings) as first,
        dbtool.record(release, **WHAT, seed=2) as second,
    ):
        for step in (1, 2):
            first.log(step, batch_cross_entropy_error=1 / step, grad_norm=2)
            second.log(step, batch_cross_entropy_error=2 / step)
        first.evaluate(2, val_classification_error=0.1)
        second.evaluate(2, val_classification_error=0.3)
    assert query(tmp_path, TRIALS) == [
        (0, "COMPLETE", 2, 2, "{}"),
        (1, "COMPLETE", 2, 1, '{"learning_rate":0.1,"nesterov":true}'),
    ]
    assert query(tmp_path, ROWS) == [(0, 1, None), (0, 2, 0.3), (1, 1, None), (1, 2, 0.1)]
    assert query(tmp_path, "SELECT metric FROM workloads") == [("val_classification_error",)]
    dbtool.verify(release)


def test_a_metric_of_unknown_direction_is_told(tmp_path):
    told = "lower values of val_foo are taken for better: .* ends in accuracy, f1"
    with (
        pytest.warns(UserWarning, match=told) as warned,
        dbtool.record(tmp_path / "runs", **WHAT, metric="val_foo", goal=0.5) as trial,
    ):
        trial.evaluate(1, val_foo=0.7)
    assert warned[0].filename == __file__
    sentences: list[str] = []
    dbtool.ingest(tmp_path / "runs", tmp_path / "db", on_message=sentences.append)
    assert any(re.match(told, each) for each in sentences)


def test_a_killed_process_leaves_what_it_recorded(tmp_path):
    release = tmp_path / "db" / "runs"
    with dbtool.record(release, **WHAT, seed=1) as trial:
        trial.evaluate(5, val_classification_error=0.5)
        trial.evaluate(10, val_classification_error=0.25)
        path = journal(release)
        assert recover(release) == 0, "its process is alive"
        content = path.read_bytes()
    # Cut anywhere, it holds the rows that are whole, and becomes a trial once.
    header, first, _ = (end for end, byte in enumerate(content, start=1) if byte == ord("\n"))
    cuts = {0: 0, header - 1: 0, first - 1: 0, first: 1, len(content) - 1: 1, len(content): 2}
    for number, (end, rows) in enumerate(cuts.items()):
        killed = tmp_path / "cut" / str(number) / "runs"
        path = killed / ".records" / "0123.jsonl"
        path.parent.mkdir(parents=True)
        for _ in range(2):
            path.write_bytes(content[:end])
            recover(killed)
        assert not path.exists()
        if rows:
            database = str(Path("cut") / str(number))
            assert query(tmp_path, ROWS, database) == [(0, 5, 0.5), (0, 10, 0.25)][:rows]
            assert query(tmp_path, TRIALS, database) == [(0, "INCOMPLETE", 5 * rows, 1, "{}")]


def test_how_a_trial_ended(tmp_path):
    release = tmp_path / "db" / "runs"
    with dbtool.record(release, **WHAT, train_steps=10) as trial:
        trial.log(1, batch_cross_entropy_error=1, batch_grad_norm=math.nan)
        trial.evaluate(10, val_classification_error=0.5)
    # Losses that are trained on tell of divergence.
    for metrics in ({"loss": math.nan}, {"train_cross_entropy_error": math.inf}):
        with dbtool.record(release, **WHAT) as trial:
            trial.log(1, **metrics, val_classification_error=0.5)
    with dbtool.record(release, **WHAT, train_steps=10) as trial:
        trial.log(9, batch_cross_entropy_error=1)
    with contextlib.suppress(KeyboardInterrupt), dbtool.record(release, **WHAT) as trial:
        trial.log(20, batch_cross_entropy_error=1)
        raise KeyboardInterrupt
    with dbtool.record(release, **WHAT):
        pass
    assert [row[1] for row in query(tmp_path, TRIALS)] == [
        *("COMPLETE", "INFEASIBLE", "INFEASIBLE", "INCOMPLETE", "INCOMPLETE")
    ]
    assert query(tmp_path, "SELECT train_steps FROM studies") == [(10,)]
    assert list((release / ".records").glob("*.jsonl")) == []


def test_a_release_that_is_not_published_any_more_is_told(tmp_path):
    with dbtool.record(tmp_path, **WHAT, train_steps=1) as trial:
        trial.log(1, batch_cross_entropy_error=1)
    dbtool.publish(tmp_path, licence="CC0-1.0")
    recording = dbtool.record(tmp_path, **WHAT)
    sentence = f"was published and has changed.* `dbtool publish {tmp_path}`"
    with pytest.warns(UserWarning, match=sentence) as told, recording as trial:
        trial.log(1, batch_cross_entropy_error=1)
    assert told[0].filename == __file__


def test_a_trial_that_stops_past_its_goal_is_complete(tmp_path):
    release = tmp_path / "db" / "runs"
    for errors in ((0.5, 0.09), (0.09, 0.5), (0.5, 0.1)):
        with dbtool.record(release, **WHAT, train_steps=10, goal=0.1) as trial:
            for step, error in enumerate(errors, start=1):
                trial.evaluate(step, val_classification_error=error)
    with (
        contextlib.suppress(KeyboardInterrupt),
        dbtool.record(release, **WHAT, train_steps=10) as trial,
    ):
        trial.evaluate(5, val_classification_error=0.05)
        raise KeyboardInterrupt
    assert [row[1] for row in query(tmp_path, TRIALS)] == [
        *("COMPLETE", "INCOMPLETE", "INCOMPLETE", "COMPLETE")
    ]


def test_what_cannot_be_recorded(tmp_path):
    with dbtool.record(tmp_path, **WHAT, goal=0.2) as trial:
        trial.evaluate(2, val_classification_error=0.1)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"workload": "mlp"}, "workload 'mlp' is not DATASET/MODEL/OPTIMIZER"),
        ({"batch_size": 0}, "batch_size is 0, and should be a whole number from 1"),
        ({"seed": 0.5}, "dbtool.record: Expected int | null, got float - at $.seed"),
        ({"goal": 0.3}, "digits/mlp/sgd with another goal (0.3, there 0.2): give the same, or"),
        ({"train_steps": 9}, "digits/mlp/sgd with another train_steps (9, there 2)"),
        ({"batch_size": 2**31}, "Expected int <= 2147483647 - at $.batch_size"),
        ({"name": "a\0b"}, "could not be stored, since its footer holds a null character"),
        ({"metaparameters": {"learning_rate": "abc"}}, "learning_rate is 'abc', and should be"),
        ({"workload": f"a/b/{'c' * 300}"}, "could not be stored, since its workload's name"),
        ({"workload": "other/mlp/sgd", "goal": 5}, "the goal 5 is no share: tell its metric"),
        ({"goal": math.nan}, "goal is nan, and should be a finite number"),
    ]
    for given, sentence in refused:
        with pytest.raises(UsageError) as error, dbtool.record(tmp_path, **(WHAT | given)):
            pytest.fail(f"it began: {given}")
        assert sentence in str(error.value)


def test_values_that_are_refused(tmp_path):
    refused: list[tuple[int, dict[str, Any], str]] = [
        (-1, {"val_loss": 1}, "step is -1"),
        (1, {"val_loss": "high"}, "val_loss is 'high' at step 1, and should be a number"),
        (1, {"val_classification_error": 12.5}, "is 12.5 at step 1, and should be a share"),
        (1, {"loss": 1}, "loss does not say what it was evaluated on"),
        (2**63, {"val_loss": 1}, "should be a whole number from 0 to 9223372036854775807"),
        (1, {"val_\0": 1}, "is not a name that can be printed"),
    ]
    with dbtool.record(tmp_path / "db", **WHAT) as trial:
        trial.log(0, batch_cross_entropy_error=2)
        for step, metrics, sentence in refused:
            with pytest.raises(UsageError, match=sentence):
                trial.evaluate(step, **metrics)
    assert query(tmp_path, "SELECT count(*) FROM measurements") == [(1,)]


def test_a_trial_that_goes_back_loses_what_lay_beyond(tmp_path):
    with dbtool.record(tmp_path / "db" / "runs", **WHAT) as trial:
        for step in (10, 20, 30, 40):
            trial.log(step, batch_cross_entropy_error=step)
        # Of another metric, which may come late.
        trial.evaluate(20, val_classification_error=0.5)
        with pytest.warns(UserWarning, match="step 25 follows 40: rows beyond it are dropped"):
            trial.log(25, batch_cross_entropy_error=25)
        trial.log(35, batch_cross_entropy_error=35)
    rows = query(tmp_path, "SELECT step FROM measurements ORDER BY ALL")
    assert rows == [(10,), (20,), (25,), (35,)]
    with pytest.raises(UsageError, match="the trial has ended"):
        trial.log(45, batch_cross_entropy_error=1)


def test_a_trial_whose_release_cannot_be_written_is_kept(tmp_path):
    release = tmp_path / "db" / "runs"
    recording = dbtool.record(release, **WHAT)
    recording.__enter__().evaluate(3, val_classification_error=0.1)
    (release / "measurements").write_text("in the way")
    with pytest.raises(DbtoolError, match="could not write a shard"):
        recording.__exit__(None, None, None)
    (release / "measurements").unlink()
    assert recover(release) == 1
    assert query(tmp_path, TRIALS) == [(0, "COMPLETE", 3, None, "{}")]


def test_a_trial_that_another_process_contradicts_is_kept(tmp_path):
    release = tmp_path / "db" / "runs"
    first = dbtool.record(release, **WHAT, goal=0.2)
    first.__enter__().evaluate(1, val_classification_error=0.1)
    with dbtool.record(release, **WHAT) as second:
        second.evaluate(1, val_classification_error=0.2)
    with pytest.raises(DbtoolError, match=r"goal .0.2, there null.; the trial is kept in"):
        first.__exit__(None, None, None)
    # It does not stop others, and moves to a release of its own.
    with dbtool.record(release, **WHAT, seed=3) as third:
        third.evaluate(1, val_classification_error=0.2)
    assert len(query(tmp_path, TRIALS)) == 2
    other = tmp_path / "other" / "mine" / ".records"
    other.mkdir(parents=True)
    journal(release).rename(other / "a.jsonl")
    assert recover(other.parent) == 1
    assert query(tmp_path, "SELECT goal FROM workloads", "other") == [(0.2,)]


VALUES = """
SELECT step, batch_cross_entropy_error, val_classification_error, test_classification_error
FROM measurements ORDER BY step
"""


@pytest.fixture(autouse=True)
def _libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other trainers' libraries, which are not installed: each the base class of its callbacks."""
    for name, base in (
        ("transformers", "TrainerCallback"),
        ("lightning", ""),
        ("lightning.pytorch", "Callback"),
        ("keras", ""),
        ("keras.callbacks", "Callback"),
    ):
        module = ModuleType(name)
        setattr(module, base or "callbacks", type(base, (), {}))
        monkeypatch.setitem(sys.modules, name, module)


def test_huggingface(tmp_path):
    with dbtool.record(tmp_path / "db" / "runs", **WHAT) as trial:
        callback = dbtool.callbacks.huggingface(trial)
        state = SimpleNamespace(is_world_process_zero=True, global_step=5)
        callback.on_log(None, state, None, logs={"loss": 0.75, "learning_rate": 0.1, "epoch": 1})
        callback.on_log(None, state, None, logs={"eval_accuracy": 0.9, "eval_runtime": 3})
        other = SimpleNamespace(is_world_process_zero=False, global_step=6)
        callback.on_log(None, other, None, logs={"loss": 9.0})
    assert query(tmp_path, VALUES) == [(5, 0.75, 0.1, None)]


def test_lightning(tmp_path):
    with dbtool.record(tmp_path / "db" / "runs", **WHAT) as trial:
        callback = dbtool.callbacks.lightning(trial)
        trainer = SimpleNamespace(is_global_zero=True, sanity_checking=True, callback_metrics={})
        callback.on_validation_end(trainer, None)
        trainer.sanity_checking = False
        # Two batches an update, each with half of its loss.
        for batch, updates in enumerate((0, 1, 1, 2)):
            trainer.global_step = updates
            callback.on_train_batch_end(trainer, None, {"loss": 0.25}, None, batch)
        trainer.callback_metrics = {"val_acc": 0.9, "train_loss": 0.5}
        callback.on_validation_end(trainer, None)
        trainer.callback_metrics = {"test_acc": 0.8}
        callback.on_test_end(trainer, None)
    assert query(tmp_path, VALUES) == [(1, 0.5, None, None), (2, 0.5, 0.1, 0.2)]


def test_keras(tmp_path):
    with dbtool.record(tmp_path / "db" / "runs", **WHAT) as trial:
        callback = dbtool.callbacks.keras(trial)
        callback.model = SimpleNamespace(optimizer=SimpleNamespace(iterations=7))
        callback.on_epoch_end(0, {"loss": 0.5, "accuracy": 0.25, "val_accuracy": 0.9})
    assert query(tmp_path, VALUES) == [(7, 0.5, 0.1, None)]
