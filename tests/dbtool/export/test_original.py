"""The layout of the archive: what is imported, exported and imported again is the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from support.archives import contents, imported, query
from support.made_up import curve, write_shard

from dbtool.data_loader import load_study
from dbtool.errors import DbtoolError, UsageError
from dbtool.export.formats import FileFormat
from dbtool.export.write import Selection, export
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest
from tests.dbtool.export.conftest import CNN, DIGITS

if TYPE_CHECKING:
    from pathlib import Path


def exported(database: Path, out: Path, release: str | None = None) -> Path:
    with open_for_reading(database) as connection:
        export(connection, out, FileFormat.ORIGINAL, Selection(release=release))
    return out


@pytest.mark.parametrize("name", ["folder", "a.tar", "a.tar.gz", "a.tar.bz2"])
def test_a_replica_comes_back(name: str, replica: Path, tmp_path: Path) -> None:
    out = exported(replica, tmp_path / name)
    report = imported(out, tmp_path / "again.duckdb")
    assert not report.malformed
    assert contents(tmp_path / "again.duckdb") == contents(replica)
    # The order of rows, too, which repeated steps are told apart by.
    ordered = """
        SELECT measurement.* EXCLUDE (study_id), workload, batch_size
        FROM stored.measurement
        JOIN stored.study USING (study_id)
        JOIN stored.workload USING (workload_id)
        ORDER BY workload, batch_size, trial_id, step, measurement.rowid
    """
    assert str(query(tmp_path / "again.duckdb", ordered)) == str(query(replica, ordered))


def test_files_are_as_the_authors_wrote_them(replica: Path, tmp_path: Path) -> None:
    out = exported(replica, tmp_path / "original")
    folder = out / "batch_science" / "imagenet/resnet_50/nesterov_momentum/512"
    study = json.loads((folder / "study.json").read_text())
    assert list(study) == [
        "batch_size",
        "dataset",
        "early_stopping",
        "model",
        "optimizer",
        "parameter_configs",
        "train_steps",
    ]
    trial = json.loads((folder / "1" / "metadata.json").read_text())
    assert list(trial) == ["parameters", "status", "steps", "trial_id"]
    assert isinstance(trial["parameters"]["learning_rate_decay_steps"], int)
    assert isinstance(trial["parameters"]["label_smoothing"], float)
    headers = {path.read_text().splitlines()[0] for path in folder.glob("*/measurements.csv")}
    metrics = ("cross_entropy_error", "classification_error")
    names = [f"{split}/{metric}" for split in ("train", "val", "test") for metric in metrics]
    plain = ",".join(["step", *names])
    assert headers == {plain, f"{plain},val/perplexity"}
    # A study without trials is a study.json alone.
    empty = out / "batch_science" / "mnist/fc_1024/sgd/8"
    assert [path.name for path in empty.iterdir()] == ["study.json"]


def test_measurements_of_producers_come_back(produced: Path, tmp_path: Path) -> None:
    out = exported(produced, tmp_path / "original", "first")
    text = (out / f"batch_science/{DIGITS}/8/5/measurements.csv").read_text()
    assert text.splitlines()[0] == (
        'step,val/classification_error,batch/cross_entropy_error,"noise, scale",lipschitz'
    )
    again = tmp_path / "again.duckdb"
    assert not imported(out, again, release="first").malformed
    measured = "SELECT * FROM measurements WHERE release = 'first' ORDER BY trial_id, step"
    assert str(query(again, measured)) == str(query(produced, measured))
    trials = (
        "SELECT * EXCLUDE (seed, shard, producer) FROM trials WHERE release = 'first' ORDER BY ALL"
    )
    assert query(again, trials) == query(produced, trials)
    studies = "SELECT * EXCLUDE (seed) FROM studies WHERE release = 'first'"
    assert query(again, studies) == query(produced, studies)


def test_two_releases_of_a_workload_have_no_room(produced: Path, tmp_path: Path) -> None:
    sentence = f"the releases first and second hold {DIGITS}, and the original layout has room"
    with pytest.raises(UsageError, match=re.escape(sentence)):
        exported(produced, tmp_path / "original")
    assert list(tmp_path.iterdir()) == []


def test_a_metric_that_no_header_can_name(tmp_path: Path) -> None:
    rows = curve([0.9, 0.5])
    rows[0] = {**rows[0], "other_metrics": {"two\nlines": 1.0}}
    shard = write_shard(tmp_path / "s", trials=[(0, "COMPLETE", {"learning_rate": 0.1}, rows)])
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, [shard]).added == 1
    with pytest.raises(DbtoolError, match=r"the metric 'two\\nlines' cannot stand in a header"):
        exported(tmp_path / "db", tmp_path / "original")
    assert {path.name for path in tmp_path.iterdir()} == {"s", "db"}


def test_the_loader_reads_what_was_exported(replica: Path, tmp_path: Path) -> None:
    """The database's own loader and the exported files agree on the metadata of every trial."""
    import dbtool

    out = exported(replica, tmp_path / "original")
    with dbtool.open(replica) as db:
        metadata, _ = load_study(f"batch_science/{CNN}/64", database=db)
    for trial_id, expected in metadata["trials"].items():
        path = out / f"batch_science/{CNN}/64/{trial_id}/metadata.json"
        assert json.loads(path.read_text()) == expected
