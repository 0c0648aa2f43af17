"""The index follows from the shards alone, and one that contradicts them is refused."""

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbtool.core.errors import DbtoolError
from dbtool.core.index import (
    SCHEMAS,
    STUDIES,
    TABLES,
    TRIALS,
    WORKLOADS,
    ClashError,
    Index,
    TablesError,
    check_columns,
    check_tables,
)
from dbtool.core.manifest import Manifest, read_manifest
from dbtool.core.release import load_shard, parse_index, read_release, shard_paths
from dbtool.core.shards import Shard
from dbtool.core.shards import write_shard as write
from tests.support.made_up import reaching, shard_footer, shard_table
from tests.support.published import list_as_it_is, write_shards


def shard(folder: Path, *trials: Any, **study: Any) -> Shard:
    return write(folder, shard_footer(trials, **study), [shard_table(trials)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "release")


def test_the_index_follows_from_the_shards(folder):
    manifest, encoded = read_release(folder)
    shards = [load_shard(folder, path) for path in shard_paths(folder)]
    tables = {name: encoded[name].cast(Index().tables()[name].schema) for name in TABLES}
    for seed in range(3):
        random.Random(seed).shuffle(shards)
        found = Index.of(shards).tables()
        assert all(found[name].equals(tables[name]) for name in TABLES)
    again = Index.from_tables(tables)
    assert again.workloads == Index.of(shards).workloads
    assert again.studies == Index.of(shards).studies
    assert all(again.tables()[name].equals(tables[name]) for name in TABLES)
    check_tables(encoded, manifest.shards)


@pytest.mark.parametrize(
    ("study", "reason"),
    [
        ({"seed": 9}, "in seed (9, there 0)"),
        ({"search_space": {}}, "in search_space (learning_rate), search_space (momentum)"),
        ({"goal": 0.5}, "in goal (0.5, there 0.1), definition (goal)"),
        ({"data_sha256": "0"}, "in definition (data_sha256)"),
        ({"search": {"most_steps": 8}}, "in search"),
    ],
)
def test_another_definition_of_a_study_clashes(tmp_path, study, reason):
    first, second = shard(tmp_path, reaching(0)), shard(tmp_path, reaching(1), **study)
    with pytest.raises(ClashError) as caught:
        Index.of([first, second])
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"{second.path} contradicts the other shards: its study")


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, dict[str, pa.Table]]:
    """What a sound release lists, and its tables."""
    return read_release(write_shards(tmp_path_factory.mktemp("listed") / "release"))


def changed(table: pa.Table, column: str, values: list[Any]) -> pa.Table:
    at = table.schema.get_field_index(column)
    return table.set_column(at, column, pa.array(values, table.schema.types[at]))


def filled(column: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: changed(table, column, [value] * len(table))


MANIFEST, FOLLOWS = "has other measurements than the manifest's list", "does not follow from trials"
CONTRADICTIONS: list[tuple[str, str, Callable[[pa.Table], pa.Table]]] = [
    (TRIALS, MANIFEST, lambda table: table.slice(1)),
    (TRIALS, MANIFEST, filled("measurements", 1)),
    (TRIALS, "has a null where every trial has a value", filled("measurements", None)),
    (TRIALS, "has a trial of unknown status", filled("status", "DONE")),
    (TRIALS, f"studies.parquet {FOLLOWS}", filled("status", "COMPLETE")),
    (STUDIES, "lists other studies than those of trials", lambda table: table.slice(1)),
    (STUDIES, FOLLOWS, lambda table: pa.concat_tables([table, table.slice(0, 1)])),
    (WORKLOADS, "studies.parquet is out of contract", lambda table: table.slice(1)),
    (WORKLOADS, FOLLOWS, filled("maximize", True)),
]


@pytest.mark.parametrize(("name", "reason", "change"), CONTRADICTIONS)
def test_tables_that_contradict_each_other_are_refused(listed, name, reason, change):
    manifest, tables = listed
    with pytest.raises(TablesError, match=reason):
        check_tables({**tables, name: change(tables[name])}, manifest.shards)


def test_other_columns_are_refused():
    for name, schema in SCHEMAS.items():
        first = schema.field(0)
        for other in (
            schema.remove(1),
            schema.append(pa.field("surprise", pa.int64())),
            schema.set(0, first.with_type(pa.int64())),
        ):
            with pytest.raises(TablesError, match="has other columns than an index"):
                check_columns(name, other)


VALUES: dict[tuple[str, str], tuple[Any, ...]] = {
    (WORKLOADS, "workload"): ("a\x1b[31m", None),
    (WORKLOADS, "dataset"): ("a\nb", " ", ""),
    (WORKLOADS, "metric"): (None, "made_up"),
    (WORKLOADS, "goal"): (math.nan, math.inf),
    (WORKLOADS, "sparsity"): (2.0, math.nan),
    (WORKLOADS, "definition"): ("[]", "{", "\0"),
    (STUDIES, "batch_size"): (0, -1),
    (STUDIES, "search_space"): ("[]", None, "a", '{"a": 1}', '{"a":' * 2000),
    (STUDIES, "search"): ("1", "{}}"),
    (TRIALS, "metaparameters"): (None, "a", "[1]", '{"a": [1]}', '{"a": null}', "{}\n{}", ""),
    (TRIALS, "producer"): (None, "[]"),
    (TRIALS, "steps"): (None, -1),
}


@pytest.mark.parametrize(("name", "column"), VALUES)
def test_values_out_of_contract_are_refused(listed, name, column):
    """Of every table, though all other rows are right."""
    manifest, tables = listed
    for value in VALUES[name, column]:
        rows = tables[name][column].to_pylist()
        wrong = {**tables, name: changed(tables[name], column, [*rows[:-1], value])}
        with pytest.raises(TablesError, match=name):
            check_tables(wrong, manifest.shards)


def test_what_is_no_table_or_claims_more_than_it_can_hold_is_not_decoded(folder):
    manifest, tables = read_release(folder)
    contents = {name: (folder / name).read_bytes() for name in TABLES}
    for noise in (b"", b"PAR1" * 9, contents[TRIALS][:-9]):
        with pytest.raises(DbtoolError, match=r"of it is not sound: studies.parquet: it is not a"):
            parse_index({**contents, STUDIES: noise}, manifest, "it")
    pq.write_table(tables[TRIALS].take(np.zeros(100_000, int)), folder / TRIALS)
    contents[TRIALS] = (folder / TRIALS).read_bytes()
    with pytest.raises(DbtoolError, match=r"claims 100,000 rows and the manifest another number"):
        parse_index(contents, manifest, "it")
    list_as_it_is(folder, TRIALS)
    with pytest.raises(DbtoolError, match=r"trials.parquet: it claims 100,000 rows in .* bytes"):
        parse_index(contents, read_manifest(folder), "it")
