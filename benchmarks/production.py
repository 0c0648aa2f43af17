"""Whole production of a block of trials, and what it spends its time on."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from dbtool.core.shards import write_shard
from producers.sweep.session import footer_of
from producers.training.block import BlockProgram
from producers.training.run import Splits, train_block

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from producers.plan import StudyPlan
    from producers.training.run import BlockTrials
    from producers.training.step import Examples, TrialState


class TimedProgram(BlockProgram):
    """A block program that adds up the seconds of its calls."""

    training = 0.0
    evaluation = 0.0

    def advance(
        self,
        states: TrialState,
        metaparameters: Mapping[str, np.ndarray],
        alive: np.ndarray,
        batches: Any,
        steps: int,
        training: Examples | None,
    ) -> tuple[TrialState, jax.Array]:
        """Trains, and waits until that is done."""
        started = time.perf_counter()
        result = super().advance(states, metaparameters, alive, batches, steps, training)
        jax.block_until_ready(result)
        self.training += time.perf_counter() - started
        return result

    def evaluate(
        self, states: TrialState, alive: np.ndarray, split: Examples
    ) -> dict[str, jax.Array]:
        """Evaluates, and waits until that is done."""
        started = time.perf_counter()
        result = super().evaluate(states, alive, split)
        jax.block_until_ready(result)
        self.evaluation += time.perf_counter() - started
        return result


@dataclass(frozen=True)
class Production:
    """The seconds that the production of a block took.

    Attributes:
        training: inside the compiled block.
        evaluation: inside the compiled evaluation.
        recording: drawing batches, recording losses, and all else until the block is trained.
        writing: of the shard.
    """

    training: float
    evaluation: float
    recording: float
    writing: float

    @property
    def whole(self) -> float:
        """All seconds."""
        return self.training + self.evaluation + self.recording + self.writing


def produce(
    program: TimedProgram,
    splits: Splits,
    plan: StudyPlan,
    trials: BlockTrials,
    evaluations: dict[int, bool],
) -> Production:
    """Trains, records, evaluates and writes a block."""
    program.training = program.evaluation = 0.0
    started = time.perf_counter()
    record = train_block(
        program, splits, trials, batch_size=plan.batch_size, evaluations=evaluations
    )
    trained = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        footer = footer_of(plan, trials, record, program)
        write_shard(Path(folder), footer, record.tables(list(trials.trial_ids)))
    recording = trained - started - program.training - program.evaluation
    writing = time.perf_counter() - trained
    return Production(program.training, program.evaluation, recording, writing)
