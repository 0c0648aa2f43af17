"""Makes shards small enough to ship: fewer batch losses with fewer digits, all evaluations."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from msgspec import Meta, Struct

from dbtool.core.contract import BATCH_LOSS, OTHER_METRICS, metric_columns
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.footer import Footer
from dbtool.core.shards import ROW_GROUP, Shard, read_tables, write_shard

_FLOAT32_MANTISSA_BITS = 23
# Level of zstd: 2 seconds per million rows for an eighth less; a release is written once.
_COMPRESSION_LEVEL = 19


class Reduction(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule for what a release drops from the producers' shards.

    Rows of evaluations and the last row of a trial are always kept. Only the batch loss is rounded.

    Attributes:
        every_loss_up_to: last step up to which all batch losses are kept.
        then_one_in: later steps are kept if divisible by this; 1 keeps all, None none.
        loss_bits: bits of the batch loss's mantissa to keep (a float32 has 23), rounded to nearest,
            ties to even; 8 bits are a relative error of at most 0.2 %.
    """

    every_loss_up_to: Annotated[int, Meta(ge=0)] = 0
    then_one_in: Annotated[int, Meta(ge=1)] | None = 1
    loss_bits: Annotated[int, Meta(ge=1, le=_FLOAT32_MANTISSA_BITS)] = _FLOAT32_MANTISSA_BITS

    def apply(self, rows: pa.Table, last_steps: dict[int, int]) -> pa.Table:
        """Return the rows to keep, with their batch losses rounded; each trial has a last step."""
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

    def following(self, before: "Reduction") -> "Reduction | None":
        """Return the reduction whose result on reduced rows equals this one's on the original rows.

        None where there is none: dropped rows cannot return, and rounding twice may differ from
        rounding once.
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


# First use before threads start, which could crash otherwise; see `dbtool.core.footer`.
msgspec.json.Decoder(Reduction)
WHOLE = Reduction()
"""Drops nothing."""


def reduction_of(footer: Footer) -> Reduction:
    """Return how a shard was reduced; a DbtoolError where this version does not know how."""
    try:
        return msgspec.convert(footer.reduced or {}, Reduction)
    except msgspec.ValidationError as error:
        name, size = footer.study.workload.workload, footer.study.batch_size
        raise DbtoolError(
            f"a shard of {name} at batch size {size} says in a way unknown here how it was "
            "reduced: publish it with the version of dbtool that reduced it"
        ) from error


def write_reduced(path: Path, footer: Footer, reduction: Reduction, folder: Path) -> Shard | None:
    """Write the reduced rows of a shard into another release folder; return the new shard.

    Where nothing is dropped, as of archives' shards, which have no batch losses, there is none. A
    shard that was reduced before in a way that this reduction cannot follow is a UsageError.
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
    """Yield the rows of tables in tables of one row group each."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= ROW_GROUP:
            rows = pa.concat_tables(waiting)
            yield rows.slice(0, ROW_GROUP)
            waiting = [rows.slice(ROW_GROUP)]
    yield pa.concat_tables(waiting)


def rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """Round float32 to 1 to 23 bits of mantissa, ties to even; infinities and NaN stay."""
    dropped = _FLOAT32_MANTISSA_BITS - bits
    if dropped == 0:
        return values
    raw = np.ascontiguousarray(values, np.float32).view(np.uint32)
    odd = (raw >> np.uint32(dropped)) & np.uint32(1)
    half = np.uint32((1 << (dropped - 1)) - 1)
    mask = ~np.uint32((1 << dropped) - 1)
    nearest = ((raw + half + odd) & mask).view(np.float32)
    result: np.ndarray = np.where(np.isfinite(values), nearest, values).astype(np.float32)
    return result
