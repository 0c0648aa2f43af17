"""Callbacks that record what trainers of other libraries log, each imported with its library.

Example:
    with dbtool.record("runs", workload="imdb/bert/adamw", batch_size=64) as trial:
        Trainer(model, callbacks=[dbtool.callbacks.huggingface(trial)], …).train()
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbtool.sources.numbers import TRANSFORMS
from dbtool.sources.tables import words

if TYPE_CHECKING:
    from dbtool.sources.recorder import Recorder


def huggingface(trial: "Recorder") -> Any:
    """Return a callback for the Trainer of transformers, which records at each log."""
    from transformers import TrainerCallback

    from dbtool.sources.logs.trainers import is_metric

    class Callback(TrainerCallback):  # type: ignore[misc]
        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any, **_more: Any) -> None:
            if state.is_world_process_zero:
                values = {name: value for name, value in logs.items() if is_metric(name)}
                trial.log(state.global_step, **_named(values))

    return Callback()


def lightning(trial: "Recorder") -> Any:
    """Return a callback for Lightning's Trainer: the loss of each update, and evaluations."""
    from lightning.pytorch import Callback as Base

    class Callback(Base):  # type: ignore[misc]
        step, loss = 0, 0.0

        def on_train_batch_end(self, trainer: Any, _module: Any, outputs: Any, *_more: Any) -> None:
            # Of accumulated gradients, each batch has its share of the loss.
            self.loss += float(outputs["loss"] if hasattr(outputs, "keys") else outputs)
            if trainer.is_global_zero and trainer.global_step > self.step:
                self.step = trainer.global_step
                trial.log(self.step, batch_cross_entropy_error=self.loss)
                self.loss = 0.0

        def on_validation_end(self, trainer: Any, _module: Any) -> None:
            if trainer.is_global_zero and not trainer.sanity_checking:
                trial.log(trainer.global_step, **_named(trainer.callback_metrics, "val_"))

        def on_test_end(self, trainer: Any, _module: Any) -> None:
            if trainer.is_global_zero:
                trial.log(trainer.global_step, **_named(trainer.callback_metrics, "test_"))

    return Callback()


def keras(trial: "Recorder") -> Any:
    """Return a callback for Keras' `fit`, which records at the end of each epoch."""
    from keras.callbacks import Callback as Base

    class Callback(Base):  # type: ignore[misc]
        def on_epoch_end(self, _epoch: int, logs: Mapping[str, Any] | None = None) -> None:
            trial.log(int(self.model.optimizer.iterations), **_named(logs or {}))

    return Callback()


def _named(metrics: Mapping[str, Any], begin: str = "") -> dict[str, float]:
    """Return metrics by the names that `dbtool ingest` gives them, in the same form.

    Those whose names begin otherwise are dropped.
    """
    found: dict[str, float] = {}
    for name, value in metrics.items():
        number = float(value)
        columns = words.metrics(name, percent=number > 1)
        column, transform = next((each for each in columns if each[0] not in found), (name, None))
        if transform is not None and math.isfinite(number):
            number = TRANSFORMS[transform](Decimal(repr(number)))
        found[column] = number
    return {name: number for name, number in found.items() if name.startswith(begin)}
