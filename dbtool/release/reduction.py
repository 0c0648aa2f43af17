"""Makes shards small enough to ship: fewer batch losses, in fewer digits; evaluations stay."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BATCH_LOSS = "batch_cross_entropy_error"
REDUCED_KEY = "reduced"
"""The key of a shard's producer metadata that holds how a release reduced it."""
_FLOAT32_MANTISSA_BITS = 23


@dataclass(frozen=True)
class Reduction:
    """What a release leaves out of the producers' shards.

    Rows of evaluations and the last row of a trial are always kept, and no metric but the batch
    loss is ever rounded.

    Attributes:
        every_loss_up_to: steps whose batch losses are all kept.
        then_one_in: of the later steps, those divisible by this are kept; 1 keeps all, None none.
        loss_bits: bits of the batch loss's mantissa that are kept (a float32 has 23), rounded to
            the nearest, ties to even: 8 bits are a relative error of at most 0.2 %.
    """

    every_loss_up_to: int = 0
    then_one_in: int | None = 1
    loss_bits: int = _FLOAT32_MANTISSA_BITS

    def to_json(self) -> dict[str, Any]:
        """The reduction as manifests and shards record it."""
        return asdict(self)

    def after(self, first: Reduction) -> Reduction | None:
        """The one reduction that keeps what is left where `first` and then this one are applied.

        Returns:
            None where they keep all losses up to different steps, and the one that does so up to
            the sooner step does not thin by a multiple of the other's number later.
        """
        bits = min(first.loss_bits, self.loss_bits)
        if self.then_one_in == 1:
            return Reduction(first.every_loss_up_to, first.then_one_in, bits)
        if first.then_one_in == 1:
            return Reduction(self.every_loss_up_to, self.then_one_in, bits)
        # Between the steps up to which each keeps all, one of them alone thins; later both do.
        sooner, later = sorted((first, self), key=lambda each: each.every_loss_up_to)
        if sooner.then_one_in is None or later.then_one_in is None:
            one_in = None
        else:
            one_in = math.lcm(sooner.then_one_in, later.then_one_in)
        if sooner.every_loss_up_to != later.every_loss_up_to and one_in != sooner.then_one_in:
            return None
        return Reduction(sooner.every_loss_up_to, one_in, bits)

    def apply(self, rows: pa.RecordBatch, last_steps: dict[int, int]) -> pa.RecordBatch:
        """The rows that are kept, with their batch losses rounded.

        Args:
            rows: rows of a shard.
            last_steps: trial_id to the last step of that trial.
        """
        kept = rows.filter(pa.array(self._kept(rows, last_steps)))
        column = kept.schema.get_field_index(BATCH_LOSS)
        losses = kept.column(column)
        values = rounded(losses.fill_null(0.0).to_numpy(zero_copy_only=False), self.loss_bits)
        rounded_losses = pa.array(values, mask=losses.is_null().to_numpy(zero_copy_only=False))
        return kept.set_column(column, kept.schema.field(column), rounded_losses)

    def _kept(self, rows: pa.RecordBatch, last_steps: dict[int, int]) -> np.ndarray:
        steps = rows.column("step").to_numpy()
        trials = rows.column("trial_id").to_numpy()
        kept = _evaluated(rows)
        kept |= steps == np.array([last_steps[trial] for trial in trials.tolist()])
        kept |= steps <= self.every_loss_up_to
        if self.then_one_in is not None:
            kept |= steps % self.then_one_in == 0
        return kept


def rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """Values with that many bits of mantissa, rounded to the nearest, ties to even.

    Args:
        values: float32 of any shape; infinities and NaN stay what they are.
        bits: from 1 to 23.
    """
    dropped = _FLOAT32_MANTISSA_BITS - bits
    if dropped == 0:
        return values
    raw = np.ascontiguousarray(values, np.float32).view(np.uint32)
    half = (np.uint32(1) << np.uint32(dropped - 1)) - np.uint32(1)
    odd = (raw >> np.uint32(dropped)) & np.uint32(1)
    mask = ~np.uint32((1 << dropped) - 1)
    nearest = ((raw + half + odd) & mask).view(np.float32)
    result: np.ndarray = np.where(np.isfinite(values), nearest, values).astype(np.float32)
    return result


def _evaluated(rows: pa.RecordBatch) -> np.ndarray:
    """Whether a row holds a metric of an evaluation, bool [rows]."""
    result = np.zeros(len(rows), bool)
    for name in rows.schema.names:
        if name not in {"trial_id", "step", BATCH_LOSS}:
            result |= pc.is_valid(rows.column(name)).to_numpy(zero_copy_only=False)
    return result
