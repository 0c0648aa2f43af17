"""Shards hold what was written, and whatever does not go with their footers is found."""

import random
import re
import resource
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbtool.core.contract import metric_columns
from dbtool.core.errors import DbtoolError
from dbtool.core.footer import Footer, FooterError, encode_footer
from dbtool.core.shards import ROW_GROUP, check_shard, read_footer, read_tables, write_shard
from tests.support.made_up import (
    curve,
    shard_footer,
    shard_table,
    whole_footer,
    whole_table,
    write_table,
)
from tests.support.published import flipped

SAMPLE: Any = (0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.1]))
VALUES = st.none() | st.floats(width=32)


@st.composite
def trials(draw: st.DrawFn) -> list[Any]:
    """Trials with any steps and metrics."""
    ids = sorted(draw(st.sets(st.integers(0, 2**31 - 1), min_size=1, max_size=4)))
    names = draw(st.sets(st.sampled_from(metric_columns()), max_size=3))
    made = []
    for trial_id in ids:
        steps = sorted(draw(st.sets(st.integers(0, 2**40), max_size=5)))
        rows = [{"step": step, **{name: draw(VALUES) for name in names}} for step in steps]
        status = draw(st.sampled_from(["COMPLETE", "INCOMPLETE", "INFEASIBLE"]))
        made.append((trial_id, status, {"a": draw(st.floats())}, rows))
    return made


@settings(max_examples=30)
@given(trials())
def test_any_rows_come_back(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("release")
    table, footer = shard_table(made), shard_footer(made)
    shard = write_shard(folder, footer, [table])
    assert shard.rows == len(table)
    assert str(check_shard(folder / shard.path)) == str(shard.footer)
    found = pa.concat_tables(read_tables(folder / shard.path)).select(table.column_names)
    assert str(found.to_pylist()) == str(table.to_pylist())
    # The same rows give the same bytes, and so the same name.
    assert write_shard(folder, footer, [table]).sha256 == shard.sha256
    assert len(list(folder.rglob("*.parquet"))) == 1


# A trial that ends where a row group does, one over three row groups, one of a single row, a rest.
LENGTHS = (ROW_GROUP, 2 * ROW_GROUP + 5, 1, 70)


def long_rows() -> tuple[Footer, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A footer, and the trial and the step of each row, [rows]."""
    footer = shard_footer(
        [(n, "COMPLETE", {}, [{"step": length - 1}]) for n, length in enumerate(LENGTHS)],
        train_steps=0,
    )
    step = np.concatenate([np.arange(length) for length in LENGTHS])
    return footer, np.repeat(np.arange(len(LENGTHS)), LENGTHS), step


def in_tables(trial: np.ndarray[Any, Any], step: np.ndarray[Any, Any]) -> list[pa.Table]:
    whole = pa.table({"trial_id": pa.array(trial, pa.int32()), "step": pa.array(step, pa.int64())})
    return [whole.slice(0, 100), whole.slice(100, 2 * ROW_GROUP), whole.slice(100 + 2 * ROW_GROUP)]


def test_long_shards_are_written_in_row_groups(tmp_path):
    footer, trial, step = long_rows()
    shard = write_shard(tmp_path, footer, in_tables(trial, step))
    assert [each.measurements for each in shard.footer.trials] == list(LENGTHS)
    metadata = pq.read_metadata(tmp_path / shard.path)
    groups = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    assert max(groups) <= ROW_GROUP
    assert check_shard(tmp_path / shard.path) == shard.footer


# Within a table, and where the second one begins.
@pytest.mark.parametrize("at", [1, 100])
def test_rows_out_of_order_are_refused_and_leave_nothing(tmp_path, at):
    footer, trial, step = long_rows()
    later = trial.copy()
    later[:at] = 1
    with pytest.raises(FooterError, match="comes after trial 1, step"):
        write_shard(tmp_path, footer, in_tables(later, step))
    step[at] = step[at - 1]
    with pytest.raises(FooterError, match=f"step {step[at]} comes after trial {trial[at]}, step"):
        write_shard(tmp_path, footer, in_tables(trial, step))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    again = msgspec.structs.replace(footer, repeated_steps=True)
    assert write_shard(tmp_path, again, in_tables(trial, step)).rows == sum(LENGTHS)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"step": pa.array(["one"] * 21)},
            "its column step is of type string, and should be whole",
        ),
        ({"step": None}, "it has no column step"),
        (
            {"val_classification_error": pa.array(["low"] * 21)},
            "its column val_classification_error is of type string, and should be",
        ),
    ],
)
def test_columns_of_other_types_are_refused(tmp_path, changes, reason):
    """As a source of one's own may yield them."""
    table = shard_table([SAMPLE])
    for name, values in changes.items():
        table = table.drop_columns(name)
        table = table if values is None else table.append_column(name, values)
    with pytest.raises(FooterError, match=reason):
        write_shard(tmp_path, shard_footer([SAMPLE]), [table])


def out_of_contract() -> dict[str, tuple[pa.Table, Footer]]:
    """Rows and a footer that do not go together, by what is wrong."""
    made = [SAMPLE, (1, "INFEASIBLE", {}, curve([0.9, 0.5, 0.1]))]
    table, footer = whole_table(made), whole_footer(made)
    first, second = footer.trials
    steps = table["step"].to_pylist()

    def column(name: str, values: list[Any]) -> pa.Table:
        at = table.schema.get_field_index(name)
        field = table.schema.field(name).with_nullable(True)
        return table.set_column(at, field, pa.array(values, field.type))

    rows, replaced = len(table), msgspec.structs.replace
    listings = {
        "trial 0 has 21 rows and its footer says 20": (
            replaced(first, measurements=20), replaced(second, measurements=22),
        ),
        "it has rows of trial 1, which it does not list": (replaced(first, measurements=42),),
        "trial 1 has another status in its rows": (first, replaced(second, status="INCOMPLETE")),
        "trial 1 has a row of step 6, after its last, 5": (first, replaced(second, steps=5)),
    }  # fmt: skip
    columns = {
        "it has a negative step": ("step", [-1, *steps[1:]]),
        "its column step holds a null": ("step", [None, *steps[1:]]),
        "its rows are not sorted": ("step", [steps[1], steps[0], *steps[2:]]),
        "its column optimizer is not 'nesterov_momentum' throughout": ("optimizer", ["a"] * rows),
        "its column batch_size is not 64 throughout": ("batch_size", [None] + [64] * (rows - 1)),
        "its column other_metrics holds more than": ("other_metrics", ['{"a": null}'] * rows),
        "its column other_metrics holds step, which": ("other_metrics", ['{"step":1}'] * rows),
    }
    return {
        "it has 41 rows and its footer lists 42": (table.slice(1), footer),
        "its columns are not those of a shard": (table.select(table.column_names[::-1]), footer),
        **{why: (table, replaced(footer, trials=listed)) for why, listed in listings.items()},
        **{why: (column(*changed), footer) for why, changed in columns.items()},
    }


@pytest.mark.parametrize("reason", out_of_contract())
def test_rows_that_do_not_go_with_the_footer_are_found(tmp_path, reason):
    table, footer = out_of_contract()[reason]
    path = write_table(tmp_path, table, encode_footer(footer))
    with pytest.raises(FooterError) as caught:
        check_shard(path)
    assert str(caught.value).startswith(reason)


def test_rows_are_counted_before_they_are_read(tmp_path):
    """Of which the first are damaged."""
    table = whole_table([SAMPLE]).take(np.zeros(ROW_GROUP + 1, int))
    for rows, reason in ((21, "its footer lists 21"), (len(table), "has a row group of 262,145")):
        footer = whole_footer([SAMPLE])
        [only] = footer.trials
        listed = msgspec.structs.replace(only, measurements=rows)
        text = encode_footer(msgspec.structs.replace(footer, trials=(listed,)))
        path = write_table(tmp_path, table, text, row_group_size=len(table))
        content = path.read_bytes()
        path.write_bytes(content[:4] + bytes(50) + content[54:])
        for read in (read_footer, check_shard):
            with pytest.raises(FooterError, match=reason):
                read(path)


def test_what_is_no_shard_is_found(tmp_path):
    (tmp_path / "noise").write_bytes(b"PAR1" * 9)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other")
    for read in (read_footer, check_shard):
        with pytest.raises(FooterError, match="it is not a readable Parquet file"):
            read(tmp_path / "noise")
        with pytest.raises(FooterError, match="it is not a shard: its metadata has no footer"):
            read(tmp_path / "other")
        with pytest.raises(FooterError, match=r"it cannot be read \(No such file or directory\)"):
            read(tmp_path / "nowhere")


def test_a_flipped_byte_of_a_page_is_found_without_a_hash(tmp_path):
    made: list[Any] = [(0, "COMPLETE", {}, curve([0.9 - 0.001 * n for n in range(60)]))]
    shard = write_shard(tmp_path, shard_footer(made), [shard_table(made)])
    path = tmp_path / shard.path
    sound = path.read_bytes()
    group = pq.read_metadata(path).row_group(0)
    chance = random.Random(5)
    for number in range(group.num_columns):
        column = group.column(number)
        start = column.dictionary_page_offset or column.data_page_offset
        # The last byte is a page's data, whose checksum the page's header holds.
        at = start + column.total_compressed_size - 1
        path.write_bytes(flipped(sound, at, chance.randrange(8)))
        with pytest.raises(FooterError):
            check_shard(path)


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path):
    rows = 10**6
    footer = shard_footer([(0, "COMPLETE", {}, [{"step": rows}])])
    losses = np.random.default_rng(1).random(rows, np.float32)
    columns = {"trial_id": np.zeros(rows, np.int32), "step": np.arange(rows)}
    table = pa.table({**columns, "batch_cross_entropy_error": losses})
    told = f"could not write a shard into {re.escape(str(tmp_path))}.*: File too large; free some"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(DbtoolError, match=told):
            write_shard(tmp_path, footer, [table])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
