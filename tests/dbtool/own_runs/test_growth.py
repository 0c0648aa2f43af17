"""Files that have grown or changed since they were loaded, and releases that are not own runs."""

from typing import Any

import pytest

from dbtool.core.errors import UsageError
from dbtool.store.table_files import RunsError
from tests.support.made_up import curve, write_shard
from tests.support.own_runs import load, query

HEADER = "run,step,error,size\n"
SIZED: Any = {"study": {"batch_size": '{ column = "size" }'}, "files": {"sampled": "true"}}
RUNS = "SELECT batch_size, trial_id, name, steps FROM trials ORDER BY ALL"


def test_new_runs_follow_those_that_are_there(tmp_path):
    load(tmp_path, {"1.csv": f"{HEADER}a,20,0.5,8\nb,30,0.5,8\n"}, **SIZED)
    # The newest first, as some tools export them.
    text = f"{HEADER}d,5,0.4,16\nc,20,0.5,8\nb,30,0.5,8\na,20,0.5,8\n"
    report = load(tmp_path, {"1.csv": text}, **SIZED)
    assert (report.shards, report.studies, report.trials, report.already_there) == (2, 1, 2, 2)
    assert query(tmp_path, RUNS) == [
        (8, 0, "a", 20), (8, 1, "b", 30), (8, 2, "c", 20), (16, 0, "d", 5)
    ]  # fmt: skip
    assert query(tmp_path, "SELECT train_steps FROM studies ORDER BY batch_size") == [(20,), (5,)]


def test_given_numbers(tmp_path):
    trial = {"trial_id": '{ column = "n" }'}
    text = "run,step,error,n\na,0,0.5,7\nb,0,0.5,3\n"
    load(tmp_path, {"1.csv": text}, trial=trial)
    assert query(tmp_path, RUNS) == [(32, 3, "b", 0), (32, 7, "a", 0)]
    with pytest.raises(RunsError, match="run 'c' has trial_id 7, which 'a' of the same study has"):
        load(tmp_path, {"1.csv": f"{text}c,0,0.5,7\n"}, trial=trial)
    with pytest.raises(RunsError, match="run 'b' has trial_id 7, which 'a' of the same study has"):
        load(tmp_path, {"1.csv": text.replace(",3", ",7")}, trial=trial, release="other")


def test_a_run_that_has_changed_is_refused_and_nothing_is_stored(tmp_path):
    load(tmp_path, {"1.csv": f"{HEADER}a,20,0.5,8\n"}, **SIZED)
    text = f"{HEADER}b,10,0.5,4\na,20,0.5,8\na,30,0.4,8\n"
    with pytest.raises(RunsError) as error:
        load(tmp_path, {"1.csv": text}, **SIZED)
    assert str(error.value) == (
        "run 'a' is already there as trial 0 with other contents: "
        "load what has changed as another release, which --release names"
    )
    assert query(tmp_path, RUNS) == [(8, 0, "a", 20)]
    load(tmp_path, {"1.csv": text}, **SIZED, release="again")
    assert len(query(tmp_path, RUNS)) == 3


def test_a_release_of_other_measurements_is_left_alone(tmp_path):
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.2]))]
    write_shard(tmp_path / "db" / "measured", trials=trials, release="measured")
    own = {"1.csv": f"{HEADER}a,20,0.5,8\n"}
    with pytest.raises(UsageError, match="'measured' holds other measurements than your own runs"):
        load(tmp_path, own, **SIZED, release="measured")
    load(tmp_path, own, **SIZED)
    assert query(tmp_path, "SELECT release FROM releases") == [("measured",), ("own",)]
