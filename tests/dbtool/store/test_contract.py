from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from support.made_up import curve, write_shard

from dbtool.resources import schema_folder
from dbtool.store import contract
from producers.training.measures import MEASURES

if TYPE_CHECKING:
    from pathlib import Path


def test_columns_are_those_of_the_stored_table() -> None:
    schema = contract.shard_schema()
    assert schema.names[:3] == ["trial_id", "step", "batch_cross_entropy_error"]
    assert schema.field("trial_id").type == pa.int32()
    assert schema.field("step").type == pa.int64()
    assert schema.field("batch_cross_entropy_error").type == pa.float32()
    assert {field.type for field in list(schema)[3:]} == {pa.float64()}
    assert [field.name for field in schema if not field.nullable] == ["trial_id", "step"]


def test_optional_columns_follow_the_others() -> None:
    schema = contract.shard_schema(contract.optional_columns())
    required = contract.shard_schema()
    assert schema.names[: len(required)] == required.names
    added = [(field.name, field.type, field.nullable) for field in list(schema)[len(required) :]]
    assert added == [
        ("train_average_precision", pa.float64(), True),
        ("val_average_precision", pa.float64(), True),
        ("test_average_precision", pa.float64(), True),
        ("other_metrics", pa.map_(pa.string(), pa.float64()), True),
    ]
    assert contract.metric_columns() == tuple(schema.names[2:-1])
    # Names that are no optional columns are passed over.
    assert contract.shard_schema(frozenset({"step", "surprise"})) == required


def test_every_column_and_measure_says_what_it_is() -> None:
    text = tomllib.loads((schema_folder() / "shard.toml").read_text(encoding="utf-8"))
    described = {column["name"]: column for column in text["column"]} | text["other_metrics"]
    assert all(about["meaning"].endswith(".") and "unit" in about for about in described.values())
    measured = {name for measure in MEASURES.values() for name in measure.metrics}
    assert measured <= set(text["other_metrics"])


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.binary(min_size=32, max_size=32))
def test_a_name_reads_back(first: int, last: int, digest: bytes) -> None:
    name = contract.shard_name(first, last, digest.hex())
    assert contract.parse_shard_name(name) == contract.ShardName(first, last, digest.hex()[:16])


@given(st.text())
def test_other_names_are_none(name: str) -> None:
    assert contract.parse_shard_name(name) is None


def test_near_misses_of_a_name_are_none() -> None:
    assert contract.parse_shard_name("trials-00000-00001-0123456789abcdef.parquet")
    for name in (
        "trials-00000-00001-0123456789ABCDEF.parquet",
        "trials-00000-00001-0123456789abcde.parquet",
        "trials-0-1-0123456789abcdef.parquet",
        "trials-000000-00001-0123456789abcdef.parquet",
        "trials-00000-00001-0123456789abcdef.parquet.tmp",
        ".trials-00000-00001-0123456789abcdef.parquet",
        "trials-" + "\N{ARABIC-INDIC DIGIT ZERO}" * 5 + "-00001-0123456789abcdef.parquet",
    ):
        assert contract.parse_shard_name(name) is None, name


def test_importing_it_leaves_duckdb_alone() -> None:
    code = "import sys, dbtool.store.contract; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_made_up_shard_lies_where_the_contract_says(tmp_path: Path) -> None:
    path = write_shard(
        tmp_path,
        workload="digits/simple_cnn_base/sgd",
        batch_size=32,
        trials=[
            (3, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5])),
            (7, "INFEASIBLE", {"learning_rate": 9.0}, curve([0.9])),
        ],
    )
    assert path.parent == tmp_path / "digits/simple_cnn_base/sgd/32"
    name = contract.parse_shard_name(path.name)
    assert name is not None
    assert (name.first, name.last) == (3, 7)
    table = pq.read_table(path)
    assert table.schema.remove_metadata() == contract.shard_schema()
    assert table.num_rows == 12
