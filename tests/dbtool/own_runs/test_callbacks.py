"""Callbacks of other libraries' trainers, called as these call them.

The libraries are not installed for tests: each stands here as the base class of its callbacks.
"""

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import dbtool
from dbtool.sources.recorder import Recorder
from tests.support.own_runs import query

ROWS = """
SELECT step, batch_cross_entropy_error, val_classification_error, test_classification_error
FROM measurements ORDER BY step
"""


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
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


def recording(folder: Path) -> AbstractContextManager[Recorder]:
    return dbtool.record(folder / "db" / "runs", workload="digits/mlp/sgd", batch_size=8)


def test_huggingface(tmp_path):
    with recording(tmp_path) as trial:
        callback = dbtool.callbacks.huggingface(trial)
        state = SimpleNamespace(is_world_process_zero=True, global_step=5)
        callback.on_log(None, state, None, logs={"loss": 0.75, "learning_rate": 0.1, "epoch": 1})
        callback.on_log(None, state, None, logs={"eval_accuracy": 0.9, "eval_runtime": 3})
        other = SimpleNamespace(is_world_process_zero=False, global_step=6)
        callback.on_log(None, other, None, logs={"loss": 9.0})
    assert query(tmp_path, ROWS) == [(5, 0.75, 0.1, None)]


def test_lightning(tmp_path):
    with recording(tmp_path) as trial:
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
    assert query(tmp_path, ROWS) == [(1, 0.5, None, None), (2, 0.5, 0.1, 0.2)]


def test_keras(tmp_path):
    with recording(tmp_path) as trial:
        callback = dbtool.callbacks.keras(trial)
        callback.model = SimpleNamespace(optimizer=SimpleNamespace(iterations=7))
        callback.on_epoch_end(0, {"loss": 0.5, "accuracy": 0.25, "val_accuracy": 0.9})
    assert query(tmp_path, ROWS) == [(7, 0.5, 0.1, None)]
