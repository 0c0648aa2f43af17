"""The replica writer: its files hold what it says, whatever their layout and order."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from tests.replica import plan_study
from tests.replica.odd import KINDS
from tests.support.archives import Replica

CHECKOUT = Path(__file__).resolve().parents[2]
MNIST = "mnist/simple_cnn_base/nesterov_momentum"
PLANS = (
    plan_study(MNIST, 1, odd=True),
    plan_study(MNIST, 64, complete=110, incomplete=10, evaluations=40),
    plan_study("open_images_v4/resnet_50/nesterov_momentum", 1_024),
    plan_study("mnist/fc_1024/sgd", 8, complete=0),
    plan_study(f"solution_quality/{MNIST}", 64),
    plan_study("lm1b/lstm/nesterov_momentum", 16, complete=20),
)


def test_traps_are_set(replica: Replica) -> None:
    plan = PLANS[1]
    frames = []
    for path in (replica.root / plan.path).glob("*/metadata.json"):
        trial = json.loads(path.read_text())
        frames.append(pd.read_csv(path.with_name("measurements.csv")).assign(**trial, ids=None))
    rows = pd.concat(frames).rename(columns={"val/classification_error": "value"})
    first = plan.steps_to_goal
    past = rows[rows["value"] < plan.goal].groupby(["status", "trial_id"])["step"].min()
    complete = rows[rows["status"] == "COMPLETE"]
    ids = sorted(complete["trial_id"].unique())
    counted = ids[: plan.trial_limit]
    # Past the hundred trials that count, one gets to the goal earlier; and of other statuses.
    assert past["COMPLETE"].min() < first
    assert past["INCOMPLETE"].min() < first
    assert past["INFEASIBLE"].min() < first
    # Two that count get there at the same step, and none before it.
    of_counted = past["COMPLETE"][past["COMPLETE"].index.isin(counted)]
    assert (of_counted.min(), (of_counted == first).sum()) == (first, 2)
    # One is at the goal before, which is not past it.
    before = complete[complete["trial_id"].isin(counted) & (complete["step"] < first)]
    assert before["value"].min() == plan.goal
    assert sorted(ids, key=str) != ids


def test_planted_steps_to_result_are_found(replica: Replica) -> None:
    found = replica.db.steps_to_result("*").select("workload", "batch_size", "steps").rows()
    expected = [
        (each.plan.workload, each.plan.batch_size, each.steps_to_result)
        for each in replica.truth.studies
    ]
    assert sorted(found) == sorted(expected)


def test_odd_files_are_there(replica: Replica) -> None:
    files = (replica.root / PLANS[0].path).glob("*/measurements.csv")
    texts = [path.read_text() for path in files]
    lines = [text.splitlines() for text in texts]
    steps = [[int(line.split(",")[0]) for line in each[1:]] for each in lines]
    there = {
        "empty": "" in texts,
        "header_only": any(len(each) == 1 for each in lines),
        "inf": any("inf" in text for text in texts),
        "missing": any(",," in text for text in texts),
        "repeated": any(len(set(each)) < len(each) for each in steps),
        "unsorted": any(sorted(each) != each for each in steps),
        "unknown_metric": any("val/perplexity" in text for text in texts),
        "short_numbers": any("e-06" in text for text in texts),
    }
    assert there == dict.fromkeys(KINDS, True)


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {
            member.name: file.read() for member in archive if (file := archive.extractfile(member))
        }


@pytest.mark.slow
def test_benchmark_writes_an_archive_and_its_answers(tmp_path: Path) -> None:
    file = tmp_path / "small.tar.gz"
    options = ["--out", str(file), "--share", "0.004", "--processes", "2", "--order", "shuffled"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks.replica", *options],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("454 studies, ")
    told = json.loads((tmp_path / "small.truth.json").read_text())["studies"]
    files = contents(file)
    for study in told:
        folder = f"batch_science/{study['plan']['workload']}/{study['plan']['batch_size']}/"
        held = [text for name, text in files.items() if name.startswith(folder)]
        rows = [text.count(b"\n") - 1 for text in held if text.startswith(b"step,")]
        assert sum(rows) == study["measurements"]
