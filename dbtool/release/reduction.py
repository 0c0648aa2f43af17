"""Makes shards small enough to ship: fewer batch losses, in fewer digits; evaluations stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from msgspec import Meta, Struct

from dbtool.core.contract import BATCH_LOSS, OTHER_METRICS, metric_columns
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.shards import ROW_GROUP, Shard, read_tables, write_shard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dbtool.core.footer import Footer

_FLOAT32_MANTISSA_BITS = 23
# Of zstd. Takes 2 seconds a million rows and saves an eighth; a release is written once.
_COMPRESSION_LEVEL = 19


class Reduction(Struct, frozen=True, forbid_unknown_fields=True):
    """What a release leaves out of the producers' shards.

    Rows of evaluations and the last row of a trial are always kept, and no metric but the batch
    loss is ever rounded.

    Attributes:
        every_loss_up_to: steps whose batch losses are all kept.
        then_one_in: of the later steps, those divisible by this are kept; 1 keeps all, None none.
        loss_bits: bits of the batch loss's mantissa that are kept (a float32 has 23), rounded to
            the nearest, ties to even: 8 bits are a relative error of at most 0.2 %.
    """

    every_loss_up_to: Annotated[int, Meta(ge=0)] = 0
    then_one_in: Annotated[int, Meta(ge=1)] | None = 1
    loss_bits: Annotated[int, Meta(ge=1, le=_FLOAT32_MANTISSA_BITS)] = _FLOAT32_MANTISSA_BITS

    def apply(self, rows: pa.Table, last_steps: dict[int, int]) -> pa.Table:
        """The rows that are kept, with their batch losses rounded.

        Args:
            rows: trial_id, step and metrics.
            last_steps: trial_id to the last step of that trial.
        """
        frame = pl.DataFrame(rows)
        step = pl.col("step")
        kept = (
            pl.any_horizontal(pl.exclude("trial_id", "step", BATCH_LOSS).is_not_null())
            | (step == pl.col("trial_id").replace_strict(last_steps))
            | (step <= self.every_loss_up_to)
        )
        if self.then_one_in is not None:
            kept |= step % self.then_one_in == 0
        frame = frame.filter(kept)
        losses = frame[BATCH_LOSS]
        values = pl.Series(BATCH_LOSS, rounded(losses.fill_null(0.0).to_numpy(), self.loss_bits))
        frame = frame.with_columns(pl.when(losses.is_not_null()).then(values).alias(BATCH_LOSS))
        return frame.to_arrow().cast(rows.schema)

    def following(self, before: Reduction) -> Reduction | None:
        """The reduction that leaves what this one leaves after another.

        None where there is no such: rows that are gone do not come back, and what is rounded twice
        may differ from what is rounded once.
        """
        one_in = before.then_one_in
        thinned = range(before.every_loss_up_to + 1, self.every_loss_up_to + 1)
        early = one_in == 1 or all(one_in is not None and step % one_in == 0 for step in thinned)
        late = self.then_one_in is None or (one_in is not None and self.then_one_in % one_in == 0)
        fewest, most = sorted((self.loss_bits, before.loss_bits))
        rounded_once = most in (fewest, _FLOAT32_MANTISSA_BITS)
        if not (early and late and rounded_once):
            return None
        return msgspec.structs.replace(self, loss_bits=fewest)


# Before threads do, which could crash; see `dbtool.core.footer`.
msgspec.json.Decoder(Reduction)
WHOLE = Reduction()
"""Leaves nothing out."""


def reduction_of(footer: Footer) -> Reduction:
    """How a shard was reduced.

    Raises:
        DbtoolError: its footer says that in a way unknown here.
    """
    try:
        return msgspec.convert(footer.reduced or {}, Reduction)
    except msgspec.ValidationError as error:
        name, size = footer.study.workload.workload, footer.study.batch_size
        raise DbtoolError(
            f"a shard of {name} at batch size {size} says in a way unknown here how it was "
            "reduced: publish it with the version of dbtool that reduced it"
        ) from error


def write_reduced(path: Path, footer: Footer, reduction: Reduction, folder: Path) -> Shard | None:
    """Writes what is left of a shard into another release folder.

    Args:
        path: of the shard.
        footer: of it.
        reduction: what to leave out.
        folder: the other release folder.

    Returns:
        None where all of it is left, as of archives' shards, which have no batch losses.

    Raises:
        UsageError: it was reduced before in a way that this one cannot follow.
        DbtoolError: it cannot be written, or was reduced before in a way unknown here.
    """
    before = reduction_of(footer)
    if reduction in (WHOLE, before):
        return None
    after = reduction.following(before)
    if after is None:
        name, size = footer.study.workload.workload, footer.study.batch_size
        raise UsageError(
            f"the batch losses of {name} at batch size {size} were thinned or rounded before, so "
            "that what is asked for cannot be made of them: publish the release that they come "
            "from, leave out the options, or take --evaluations-only"
        )
    losses = (table[BATCH_LOSS] for table in read_tables(path, [BATCH_LOSS]))
    if all(each.null_count == len(each) for each in losses):
        return None
    last_steps = {trial.trial_id: trial.steps for trial in footer.trials}
    columns = ["trial_id", "step", *metric_columns(), OTHER_METRICS]
    tables = (after.apply(table, last_steps) for table in read_tables(path, columns))
    footer = msgspec.structs.replace(footer, reduced=msgspec.structs.asdict(after))
    return write_shard(folder, footer, _row_groups(tables), compression_level=_COMPRESSION_LEVEL)


def _row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows of tables in tables of a row group each."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= ROW_GROUP:
            rows = pa.concat_tables(waiting)
            yield rows.slice(0, ROW_GROUP)
            waiting = [rows.slice(ROW_GROUP)]
    yield pa.concat_tables(waiting)


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
