"""What is imported, exported in the archive's layout and imported again is the same."""

import csv
from pathlib import Path

import pytest

from dbtool.release.export import export
from dbtool.release.file_format import FileFormat
from dbtool.release.verify import verify
from tests.replica import plan_study
from tests.support.archives import Replica, contents, imported

CNN = "mnist/simple_cnn_base/nesterov_momentum"
PLANS = (
    plan_study(CNN, 1, odd=True),
    plan_study("solution_quality/" + CNN, 64),
    plan_study("imagenet/resnet_50/nesterov_momentum", 512, odd=True),
    plan_study("open_images_v4/resnet_50/nesterov_momentum", 1_024, odd=True),
    plan_study("lm1b/lstm/nesterov_momentum", 16),
)


def test_it_is_sound_to_verify(replica: Replica) -> None:
    outcome = verify(replica.folder)
    assert (outcome.problems, outcome.measurements) == ((), replica.truth.measurements)


@pytest.mark.parametrize(
    "name",
    [
        "folder",
        "a.tar.bz2",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("a.tar", "a.tar.gz")),
    ],
)
def test_a_replica_comes_back(name: str, replica: Replica, tmp_path: Path) -> None:
    export(replica.db, tmp_path / name, FileFormat.ORIGINAL)
    assert not imported(tmp_path / name, tmp_path / "db").malformed
    assert contents(tmp_path / "db") == contents(replica.folder)


def test_every_field_is_written_as_the_archive_has_it(replica: Replica, tmp_path: Path) -> None:
    """Of a trial's file the same columns; nan, inf and nothing as they were, numbers without zeros
    at their ends, sorted by step; columns without a value in the study may be there or not."""
    out = tmp_path / "out"
    export(replica.db, out, FileFormat.ORIGINAL)
    seen: set[str] = set()
    for file in replica.root.rglob("measurements.csv"):
        theirs = fields(file)
        ours = fields(out / file.relative_to(replica.root.parent))
        for name in theirs.keys() | ours.keys():
            empty = [""] * len(ours["step"])
            assert ours.get(name, empty) == theirs.get(name, empty), (file, name)
            seen.update(theirs.get(name, ()))
    assert {"nan", "inf", ""} <= seen


def fields(path: Path) -> dict[str, list[str]]:
    """The fields of each column, each number as its shortest decimal; in the order of the steps."""
    with path.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["step"]))
    names = rows[0].keys() if rows else ("step",)
    return {
        name: [row[name] if name == "step" else shortest(row[name]) for row in rows]
        for name in names
    }


def shortest(field: str) -> str:
    return repr(float(field)) if field[-1:].isdigit() else field
