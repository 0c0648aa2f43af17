"""Loading shards: each once, whole studies, and nothing that is out of contract."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.made_up import curve, shard_metadata, shard_table, write_shard, write_table

from dbtool.errors import UsageError
from dbtool.store.contract import shard_schema
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import IngestReport, find_shards, ingest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RATE = {"learning_rate": 0.1, "momentum": 0.9}
ALL_ROWS = """
SELECT * EXCLUDE (other_metrics) FROM measurements ORDER BY workload, batch_size, trial_id, step
"""


def trial(trial_id: int, status: str = "COMPLETE", last: float = 0.1) -> Any:
    return (trial_id, status, RATE, curve([0.9, 0.5, last]))


def load(database: Path, paths: Sequence[Path]) -> IngestReport:
    with open_for_writing(database) as connection:
        return ingest(connection, find_shards(paths))


def fetch(database: Path, query: str = ALL_ROWS) -> list[tuple[Any, ...]]:
    with open_for_reading(database) as connection:
        rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        return rows


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    write_shard(tmp_path / "shards", batch_size=64, trials=[trial(0), trial(3, last=0.25)])
    report = load(tmp_path / "db", [tmp_path / "shards"])
    assert report == IngestReport(1, 0, (), trials=2, measurements=42)
    query = """
        SELECT trial_id, step, val_classification_error
        FROM measurements WHERE step % 10 = 0 ORDER BY ALL
    """
    assert fetch(tmp_path / "db", query) == [
        *((0, 0, 0.9), (0, 10, 0.5), (0, 20, 0.1)),
        *((3, 0, 0.9), (3, 10, 0.5), (3, 20, 0.25)),
    ]
    losses = """
        SELECT batch_cross_entropy_error
        FROM measurements WHERE trial_id = 0 AND step IN (0, 1, 3) ORDER BY step
    """
    assert fetch(tmp_path / "db", losses) == [(None,), (1.0,), (0.5,)]


def test_views_tell_what_the_shards_say(tmp_path: Path) -> None:
    write_shard(
        tmp_path / "shards",
        workload="some/digits/fc_8/sgd",
        batch_size=2,
        goal=0.2,
        trials=[trial(0), trial(1, "INFEASIBLE"), trial(2, "INCOMPLETE"), trial(5)],
    )
    load(tmp_path / "db", [tmp_path / "shards"])
    columns = (
        "release, collection, dataset, model, optimizer, metric, goal, maximize, "
        "studies, trials, measurements"
    )
    assert fetch(tmp_path / "db", f"SELECT {columns} FROM workloads") == [
        (
            "made-up",
            "some",
            "digits",
            "fc_8",
            "sgd",
            "val_classification_error",
            0.2,
            False,
            1,
            4,
            84,
        )
    ]
    columns = "workload, batch_size, train_steps, complete, incomplete, infeasible, measurements"
    assert fetch(tmp_path / "db", f"SELECT {columns} FROM studies") == [
        ("some/digits/fc_8/sgd", 2, 20, 2, 1, 1, 84)
    ]
    columns = (
        "trial_id, status, steps, learning_rate, momentum, label_smoothing, metaparameters, seed"
    )
    assert fetch(tmp_path / "db", f"SELECT {columns} FROM trials ORDER BY ALL LIMIT 1") == [
        (0, "COMPLETE", 20, 0.1, 0.9, None, RATE, 1000)
    ]
    assert fetch(tmp_path / "db", "SELECT release, studies, trials FROM releases") == [
        ("made-up", 1, 4)
    ]


def test_the_same_shard_again_changes_nothing(tmp_path: Path) -> None:
    write_shard(tmp_path / "shards", trials=[trial(0)])
    load(tmp_path / "db", [tmp_path / "shards"])
    before = fetch(tmp_path / "db")
    write_shard(tmp_path / "shards", trials=[trial(1)])
    report = load(tmp_path / "db", [tmp_path / "shards"])
    assert (report.added, report.already_there, report.measurements) == (1, 1, 21)
    assert fetch(tmp_path / "db")[: len(before)] == before
    assert load(tmp_path / "db", [tmp_path / "shards"]).already_there == 2
    assert len(fetch(tmp_path / "db")) == 42


def test_the_order_of_shards_does_not_matter(tmp_path: Path) -> None:
    paths = [
        write_shard(tmp_path / "shards", batch_size=size, trials=[trial(number, last=number / 50)])
        for size in (8, 64)
        for number in (9, 10)
    ]
    load(tmp_path / "one", paths)
    random.Random(3).shuffle(paths)
    for path in paths:
        load(tmp_path / "other", [path])
    assert fetch(tmp_path / "one") == fetch(tmp_path / "other")


def test_damaged_shards_are_refused_by_name_and_the_rest_goes_in(tmp_path: Path) -> None:
    chance = random.Random(7)
    good = write_shard(tmp_path / "shards", batch_size=8, trials=[trial(0)])
    sound = good.read_bytes()
    damaged = {}
    for number in range(20):
        flipped = bytearray(sound)
        flipped[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        damaged[tmp_path / f"flipped-{number}" / good.name] = bytes(flipped)
    damaged[tmp_path / "short" / good.name] = sound[: len(sound) // 2]
    damaged[tmp_path / "empty" / good.name] = b""
    damaged[tmp_path / "renamed" / good.name.replace("trials-00000", "trials-00001")] = sound
    for path, contents in damaged.items():
        path.parent.mkdir()
        path.write_bytes(contents)
    report = load(tmp_path / "db", [*damaged, good])
    assert {path for path, _ in report.refused} == set(damaged)
    assert report.added == 1
    assert len(fetch(tmp_path / "db")) == 21


def out_of_contract() -> dict[str, Any]:
    """What is wrong: the table and the metadata."""
    trials = [trial(0), trial(1)]
    table, metadata = shard_table(trials), shard_metadata(trials)
    study, listed = metadata["dbtool_study"], metadata["dbtool_trials"]
    steps = table["step"].to_pylist()
    position = table.schema.get_field_index("step")

    def with_steps(values: list[int | None]) -> pa.Table:
        return table.set_column(position, "step", pa.array(values, pa.int64()))

    return {
        "no column val_classification_error": (
            table.drop_columns("val_classification_error"),
            metadata,
        ),
        "column surprise": (table.append_column("surprise", table["step"]), metadata),
        "is double and not": (
            table.set_column(2, shard_schema().names[2], table[2].cast(pa.float64())),
            metadata,
        ),
        "not sorted": (with_steps([steps[1], steps[0], *steps[2:]]), metadata),
        "twice": (with_steps([steps[0], steps[0], *steps[2:]]), metadata),
        "null": (with_steps([None, *steps[1:]]), metadata),
        "has no rows": (table.slice(0, 21), metadata),
        "does not list": (table, metadata | {"dbtool_trials": listed[:1]}),
        "after its last step": (
            table,
            metadata
            | {"dbtool_trials": [listed[0] | {"status": "INFEASIBLE", "steps": 5}, listed[1]]},
        ),
        "fewer than": (table, metadata | {"dbtool_study": study | {"train_steps": 21}}),
        "format": (table, metadata | {"dbtool_shard_format": 99}),
        "status": (
            table,
            metadata | {"dbtool_trials": [listed[0] | {"status": "DONE"}, listed[1]]},
        ),
        "no collection": (
            table,
            metadata | {"dbtool_study": study | {"workload": {"workload": "digits/fc_8/sgd"}}},
        ),
    }


@pytest.mark.parametrize("reason", out_of_contract())
def test_rows_and_metadata_out_of_contract_are_refused(tmp_path: Path, reason: str) -> None:
    table, metadata = out_of_contract()[reason]
    path = write_table(tmp_path / "shards", table, metadata)
    report = load(tmp_path / "db", [path])
    assert report.added == 0
    ((refused, why),) = report.refused
    assert refused == path
    assert reason in why
    assert fetch(tmp_path / "db") == []


def test_other_contents_for_a_trial_are_refused(tmp_path: Path) -> None:
    first = write_shard(tmp_path / "a", trials=[trial(0), trial(1)])
    second = write_shard(tmp_path / "b", trials=[trial(1, last=0.2), trial(2)])
    report = load(tmp_path / "db", [first, second])
    ((path, reason),) = report.refused
    assert path == second
    assert "trial 1" in reason
    assert first.name in reason
    assert len(fetch(tmp_path / "db")) == 42


@pytest.mark.parametrize(
    "change", [{"seed": 9}, {"train_steps": 10}, {"search_space": {}}, {"goal": 0.5}]
)
def test_another_definition_of_a_study_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    first = write_shard(tmp_path / "a", trials=[trial(0)])
    second = write_shard(tmp_path / "b", trials=[trial(1)], **change)
    load(tmp_path / "db", [first])
    report = load(tmp_path / "db", [second])
    ((path, reason),) = report.refused
    assert path == second
    assert next(iter(change)) in reason


def test_only_shards_are_found(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "shards", trials=[trial(0)])
    (path.parent / ".writing-1.parquet").write_bytes(b"")
    (path.parent / "notes.txt").write_text("made up")
    assert find_shards([tmp_path, path]) == [path]
    with pytest.raises(UsageError, match="there is no"):
        find_shards([tmp_path / "nowhere"])
