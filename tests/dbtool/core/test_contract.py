"""The columns and paths of shards."""

import tomllib

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core import contract
from dbtool.core.files import sha256_of
from dbtool.core.resources import schema_folder
from tests.support.made_up import curve, write_shard


def test_every_column_and_measure_says_what_it_is():
    text = tomllib.loads((schema_folder() / "shard.toml").read_text(encoding="utf-8"))
    described = {column["name"]: column for column in text["column"]} | text["other_metrics"]
    assert all(about["meaning"].endswith(".") and "unit" in about for about in described.values())


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_each_workload_has_a_folder_of_its_own(names):
    encodable = [name.encode(errors="replace").decode() for name in names]
    first, second = (contract.study_path(name, 8) for name in encodable)
    assert (first == second) == (encodable[0] == encodable[1])
    for path in (first, second):
        assert path.isascii()
        assert path.count("/") == 2
        assert not any(part.startswith(".") for part in path.split("/"))


def test_a_shard_lies_where_the_contract_says(tmp_path):
    path = write_shard(
        tmp_path,
        workload="some/digits & ü/../fc_8/sgd",
        batch_size=32,
        trials=[(3, "COMPLETE", {}, curve([0.9, 0.5])), (7, "INFEASIBLE", {}, curve([0.9]))],
    )
    folder = "measurements/workload=some%2Fdigits%20%26%20%C3%BC%2F..%2Ffc_8%2Fsgd/batch_size=32"
    assert path.relative_to(tmp_path).as_posix() == f"{folder}/{sha256_of(path)[:32]}.parquet"
    table = pq.read_table(path, partitioning=None)
    assert table.schema.remove_metadata().equals(contract.shard_schema().remove_metadata())
    assert table.num_rows == 12
