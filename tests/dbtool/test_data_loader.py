"""The authors' loader on a database, against pandas reading the replica's files as they do."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dbtool
from dbtool.data_loader import load_study, load_workload
from tests.support.archives import CNN, PLANS
from tests.support.made_up import curve, write_shard

ALL = ("COMPLETE", "INCOMPLETE", "INFEASIBLE")


def as_the_authors_read(
    folder: Path, statuses: tuple[str, ...] = ("COMPLETE",), first: int | None = None
) -> tuple[dict[str, Any], pd.DataFrame]:
    """A study's folder: json for the metadata, pandas for each trial's table, put under its id."""
    study = json.loads((folder / "study.json").read_text())
    study["trials"], tables = {}, {}
    for path in sorted(folder.glob("*/metadata.json"), key=lambda path: int(path.parent.name)):
        trial = json.loads(path.read_text())
        if trial["status"] in statuses and len(study["trials"]) != first:
            study["trials"][trial["trial_id"]] = trial
            table = path.with_name("measurements.csv")
            # pandas refuses a file without a byte, and has no numbers for one without a row.
            if table.stat().st_size:
                tables[trial["trial_id"]] = pd.read_csv(table, index_col="step").astype(float)
    return study, pd.concat(tables, names=["trial_id"])


def assert_same_metadata(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Equal, types and order of the trials included, but for what is internal or made up."""
    trials = {
        number: {name: value for name, value in trial.items() if "_internal" not in name}
        for number, trial in expected["trials"].items()
    }
    described = {name: value for name, value in expected.items() if name != "_made_up"}
    described["trials"] = trials
    assert list(found["trials"]) == list(trials)
    # Unlike numbers, their texts tell types.
    assert json.dumps(found, sort_keys=True) == json.dumps(described, sort_keys=True)


def assert_same_table(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Equal to the last bit, once the rows of each trial are sorted by step."""
    levels = range(expected.index.nlevels)
    order = np.lexsort([expected.index.get_level_values(level) for level in levels[::-1]])
    pd.testing.assert_frame_equal(found, expected.iloc[order], check_exact=True)


@pytest.mark.parametrize(
    ("plan", "statuses"),
    [*((plan, ALL) for plan in PLANS), (PLANS[0], ("COMPLETE",)), (PLANS[0], ("INFEASIBLE",))],
    ids=lambda value: getattr(value, "path", None),
)
def test_studies_as_pandas_reads_them(replica, plan, statuses):
    options = {f"load_{status.lower()}_trials": status in statuses for status in ALL}
    folder = replica.root / plan.path
    metadata, table = load_study(str(folder), database=replica.db, **options)
    expected_metadata, expected = as_the_authors_read(folder, statuses)
    assert_same_metadata(metadata, expected_metadata)
    assert_same_table(table, expected)


def test_workloads_as_pandas_reads_them(replica):
    folder = f"/elsewhere/batch_science/{CNN}/"
    metadata, table = load_workload(folder, 8, database=replica.db)
    parts = {size: as_the_authors_read(replica.root / CNN / str(size), first=8) for size in (1, 64)}
    assert list(metadata) == [1, 64]
    for size, (expected, _) in parts.items():
        assert_same_metadata(metadata[size], expected)
    tables = {size: part for size, (_, part) in parts.items()}
    assert_same_table(table, pd.concat(tables, names=["batch_size"]))


def test_the_authors_questions_run_unchanged(replica, monkeypatch):
    """As their notebook asks for steps to result: rows past the goal, the first by step and id."""
    monkeypatch.setenv("DBTOOL_DB", str(replica.folder))
    _, table = load_workload(replica.root / CNN, num_trials=10)
    past = table[table["val/classification_error"] < 0.01].sort_index(level=["step", "trial_id"])
    first = past.groupby("batch_size").head(1).sort_index(level="batch_size")
    steps = replica.db.steps(CNN, goal=0.01, trials=10)
    answered = steps.select("batch_size", "trial_id", "steps").rows()
    assert first.index.to_list() == answered


def test_folders_are_names(replica):
    for folder in ("batch_science/{}/", "./{}", "/data/{}", "/batch_science/a/batch_science/{}"):
        plain, quality = (
            load_study(folder.format(path), database=replica.db)[0]
            for path in (f"{CNN}/64", f"solution_quality/{CNN}/64")
        )
        assert plain["trials"] != quality["trials"]
        assert (len(plain["trials"]), len(quality["trials"])) == (30, 12)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (
            "/batch_science/mnist/simple_cnn_bas/sgd/64",
            "unknown workload 'mnist/simple_cnn_bas/sgd",
        ),
        # Another collection than the one that is there, below a folder of another name.
        (f"/data/mnist_subsets/{CNN}/64", "'mnist/simple_cnn_base/nesterov_momentum' is published"),
        (f"/batch_science/{CNN}/65", "unknown batch size '65'; closest: 64"),
        (f"/batch_science/{CNN}", "not a folder of a study: its last part is a batch size, as in"),
    ],
)
def test_what_is_not_there(path, sentence, replica):
    with pytest.raises(dbtool.UsageError, match=sentence):
        load_study(path, database=replica.db)


def test_trials_that_are_not_there(replica):
    folder = f"batch_science/{CNN}/64"
    with pytest.raises(ValueError, match=r"31 trials with status .* asked for, and .* has 30"):
        load_study(folder, num_trials=31, database=replica.db)
    with pytest.raises(ValueError, match="at least one of load_complete_trials"):
        load_workload(folder, load_complete_trials=False, database=replica.db)
    for number in (30, 0):
        assert len(load_study(folder, num_trials=number, database=replica.db)[0]["trials"]) == 30


def test_releases_of_producers(tmp_path):
    """The published release is meant where there is one; of others one has to be chosen."""
    path = tmp_path / "others"
    for release, errors in (("first", [0.9, 0.5]), ("second", [0.8, 0.4])):
        trial = (0, "COMPLETE", {"learning_rate": 0.1}, curve(errors))
        write_shard(path / release, release=release, workload=CNN, batch_size=8, trials=[trial])
    told = r"releases first, second hold .* database=dbtool\.open\(release='first'\)"
    with dbtool.open(path) as db, pytest.raises(dbtool.UsageError, match=told):
        load_study(f"batch_science/{CNN}/8", database=db)
    with dbtool.open(path, release="second") as db:
        metadata, table = load_study(f"batch_science/{CNN}/8", database=db)
        assert db.sql("SELECT 1").rows() == [(1,)]
    assert metadata["trials"][0]["parameters"] == {"learning_rate": 0.1}
    assert list(table.columns) == ["val/classification_error", "batch/cross_entropy_error"]
    assert table["val/classification_error"].dropna().to_list() == [0.8, 0.4]
    assert len(table) == 11
