"""The store takes every definition that producers write, and keeps all of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.made_up import curve, shard_metadata, shard_table, write_table

from dbtool.store.contract import STUDY_KEY
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest
from dbtool.store.metadata import parse_metadata
from producers.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from pathlib import Path

TRIALS: list[Any] = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5]))]
CHOSEN = (
    "mnist/fc_128_128_128/sgd",
    "open_images_v4/resnet_50/nesterov_momentum",
    "sparsity_0/cifar_10/resnet_8/sgd",
    "sparsity_90/mnist/simple_cnn/sgd",
)


def metadata(definition: dict[str, Any]) -> dict[str, Any]:
    """Of a shard of a workload with that definition."""
    described = shard_metadata(TRIALS)
    described[STUDY_KEY]["workload"] = definition
    return described


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_definition_is_in_contract(name: str) -> None:
    definition = json.loads(json.dumps(WORKLOADS[name].definition()))
    text = {key.encode(): json.dumps(value).encode() for key, value in metadata(definition).items()}
    study, _, _ = parse_metadata(text)
    assert study["workload"] == definition


def test_definitions_are_kept_whole(tmp_path: Path) -> None:
    definitions = {name: json.loads(json.dumps(WORKLOADS[name].definition())) for name in CHOSEN}
    replaced = definitions[CHOSEN[0]] | {
        "workload": "mine/fc_128_128_128/sgd",
        "dataset": "mine",
        "replaces": "mnist",
        "goal": None,
        "data_sha256": "0" * 64,
    }
    definitions[replaced["workload"]] = replaced
    paths = [
        write_table(tmp_path, shard_table(TRIALS), metadata(definition))
        for definition in definitions.values()
    ]
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, paths).refused == ()
        # The definition is compared with the stored one, whatever it holds.
        other = metadata(replaced | {"data_sha256": "1" * 64})
        [(_, reason)] = ingest(
            connection, [write_table(tmp_path, shard_table(TRIALS), other)]
        ).refused
        assert "workload data_sha256" in reason
        stored = connection.execute("SELECT workload, definition FROM stored.workload").fetchall()
    assert {name: json.loads(definition) for name, definition in stored} == definitions
    with open_for_reading(tmp_path / "db") as connection:
        told = connection.execute("""
            SELECT workload, collection, sparsity, goal, goal_inclusive, maximize
            FROM workloads
        """).fetchall()
        without_goal = connection.execute("""
            SELECT steps, goal FROM steps_to_result(NULL, 'mine/*', NULL, NULL, 100)
        """).fetchall()
    for name, *about in told:
        given = definitions[name]
        inclusive = given.get("goal_inclusive", False)
        assert about == [
            *(given[key] for key in ("collection", "sparsity", "goal")),
            inclusive,
            given["maximize"],
        ]
        assert inclusive == name.startswith("sparsity_")
    assert without_goal == [(None, None)]
