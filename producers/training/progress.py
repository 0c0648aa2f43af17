"""How far a block of trials has come: what a checkpoint has to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from producers.training.records import BlockRecord
    from producers.training.slots import Slots
    from producers.training.step import TrialState


@dataclass
class Progress:
    """How far a block has come.

    Attributes:
        states: of all places.
        slots: which trial each place holds.
        record: the measurements so far.
        step: updates made.
        evaluations: how many evaluations are done.
    """

    states: TrialState
    slots: Slots
    record: BlockRecord
    step: int = 0
    evaluations: int = 0
