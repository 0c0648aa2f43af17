"""Files in every layout, and what is said about those that are not what their mapping says."""

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbtool.sources.numbers import USE_POINTS
from dbtool.store.table_files import RunsError
from tests.support.own_runs import load, query, read, refused, trials, values

ROWS = (
    "SELECT trial_id, step, val_classification_error, other_metrics FROM measurements ORDER BY ALL"
)
NO_VALUE = "is not a number; name what stands for no value in files.empty"
NO_NUMBER = f"{NO_VALUE}, or what is not a metric in files.ignore"
NO_SHARE = 'is not a share from 0 to 1; give the column a transform such as "x / 100"'
NO_STATUS = (
    'status is "done", and should be COMPLETE, INCOMPLETE or INFEASIBLE, or stand for one of them '
    'as in values = { finished = "COMPLETE" }'
)
NO_RATE = 'learning_rate is "done", and should be a finite number'
WIDE = "run,step,error\na,0,0.9\na,10,0.05\n"


def test_wide_with_empty_fields_and_several_files(tmp_path):
    files = {
        # As pandas writes it: a column without a name counts the rows.
        "1.csv": "\ufeff,run,step,error,norm\r\n0,b,0,0.9,\r\n1,b,20,,3\r\n\r\n",
        "2.csv": 'run,step,error\nb,10,0.5\n"a",0,nan\n',
    }
    report = load(tmp_path, files)
    assert (report.trials, report.measurements) == (2, 4)
    source = read(tmp_path, files, paths="*.csv", files={"run": '"run"'})
    assert "kept in other_metrics under their own names: norm" in source.sentences
    found = query(tmp_path, ROWS)
    assert found[:3] == [(0, 0, 0.9, None), (0, 10, 0.5, None), (0, 20, None, {"norm": 3.0})]
    assert repr(found[3]) == "(1, 0, nan, None)"


def test_json_lines_with_nested_names(tmp_path):
    text = (
        '{"step": 0, "val": {"error": 0.9}, "n": null, "config": {"lr": 0.5}}\n'
        '\n{"step": 1e1, "val": {"error": NaN}, "ok": true, "config": {"lr": 0.5}}\n'
    )
    source = read(
        tmp_path,
        text,
        "jsonl",
        files={"ignore": '["ok"]'},
        metrics={"val_classification_error": '"val.error"'},
        metaparameters={"learning_rate": '{ column = "config.lr" }'},
    )
    assert repr(values(source)) == "[(0, 0.9), (10, nan)]"
    [trial] = trials(source)
    assert (trial.metaparameters, trial.status) == ({"learning_rate": 0.5}, "INFEASIBLE")


def test_parquet_of_a_data_frame(tmp_path):
    accuracy = pa.array([np.float32(0.1), None, np.float32(0.92)], pa.float32())
    frame: Any = {"run": list("aab"), "step": [0, 5, 0], "acc": accuracy, "p": [{"lr": 0.5}] * 3}
    frame["took"] = pa.array([None, None, 1_500], "duration[ms]")
    pq.write_table(
        pa.table({**frame, "tags": [["x"], [], None], "note": list("xyz")}),
        tmp_path / "runs.parquet",
    )
    metric = {"val_classification_error": '{ column = "acc", transform = "1 - x" }'}
    options: dict[str, Any] = {
        "metrics": metric, "metaparameters": {"learning_rate": '{ column = "p.lr" }'}
    }  # fmt: skip
    text = (tmp_path / "runs.parquet").read_bytes()
    sentences = refused(tmp_path, {"1.parquet": text}, kind="parquet", **options)
    assert sentences.startswith(f"1.parquet row 1, column 'note': 'x' {NO_NUMBER}; 1.parquet row 2")
    ignore = {"ignore": '["note"]'}
    load(tmp_path, {"1.parquet": text}, kind="parquet", files=ignore, **options)
    assert query(tmp_path, ROWS) == [(0, 0, 0.9, None), (1, 0, 0.08, {"took": 1.5})]
    assert query(tmp_path, "SELECT DISTINCT learning_rate FROM trials") == [(0.5,)]
    pq.write_table(pa.table({"x": pa.array([0], pa.timestamp("s", "Mars"))}), tmp_path / "mars")
    for content, reason in (
        (b"x", "it is not a readable Parquet file"),
        ((tmp_path / "mars").read_bytes(), "its column x has the unknown time zone 'Mars'"),
    ):
        sentence = f"2.parquet is not Parquet of numbers and texts: {reason}"
        assert refused(tmp_path / "no", {"2.parquet": content}, kind="parquet") == sentence


def test_numbers_with_commas_are_told_to_have_points(tmp_path):
    text = "run;step;error;lr\na;0;0,9;0,1\na;10;-;0,1\na;20;0,05;0,1\n"
    rate = {"metaparameters": {"learning_rate": '{ column = "lr" }'}}
    no_rate = NO_RATE.replace("done", "0,1")
    assert refused(tmp_path, {"1.csv": text}, **rate).split("; 1.csv ") == [
        f"1.csv line 2, column 'error': '0,9' is not a number; {USE_POINTS}",
        f"line 4, column 'error': '0,05' is not a number; {USE_POINTS}",
        f"line 2, column 'lr': {no_rate}; {USE_POINTS}",
    ]


def test_without_a_column_each_file_is_a_run(tmp_path):
    files = {f"{name}.csv": "step,error\n0,0.9\n" for name in "ab"}
    assert load(tmp_path, files, files={"run": None}).trials == 2
    same = {f"{name}/x.csv": "step,error\n0,0.9\n" for name in "ab"}
    assert "a/x.csv and " in refused(tmp_path / "other", same, files={"run": None})


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        ("csv", "run,step,step\n", "line 1, column 'step': it is there twice: rename one of them"),
        ("csv", 'run,step,error\n"a\nb",0,0.5\na,0,x\n',
         f"line 4, column 'error': 'x' {NO_VALUE}"),
        ("csv", "run,step,error\na,,0.5\n", "line 2, column 'step': it is empty"),
        ("csv", "rum,step,error\na,0,0.5\n", "line 2: there is no column 'run'; closest: 'rum'"),
        ("csv", "run,step,error\na,0,8.5\n", f"line 2, column 'error': '8.5' {NO_SHARE}"),
        ("csv", "run,step,error\na\0b,1,0.5\n", "line 2: the run's name 'a\\x00b' has a NUL"),
        ("csv", "run,step,error,batch_size\na,0,0.5,32\n",
         "line 2, column 'batch_size': the database has another batch_size: rename it, or"),
        ("csv", 'run,step,error\na,0,"0.5\n', "line 2: it is no CSV (unexpected end of data)"),
        ("csv", "run,step,text,{x}\na,0,,0\n,1,,0\n",
         ("line 3, column 'run': it is empty; the files have no column 'error', which "
          "metrics.val_classification_error of the mapping names; closest: 'run', 'step', 'text'")),
        ("jsonl", "\n[1]", "line 2: it is no JSON object; each line is one"),
        ("jsonl", "[" * 100_000, "line 1: it is no JSON; each line is one object"),
        ("jsonl", '{"run": "a", "step": 0, "error": 0.5, "x": [1]}', "line 1, column 'x': '["),
    ],
    ids=lambda value: value[:40],
)  # fmt: skip
def test_sentences_about_files(tmp_path, kind, text, sentence):
    told = refused(tmp_path, {f"1.{kind}": text}, kind=kind)
    assert told.startswith(f"1.{kind} {sentence}")


def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunsError, match="pipe cannot be read: it is not a file"):
        load(tmp_path, {"1.csv": WIDE}, runs={"file": '"pipe"'})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"study": {"batch_size": '{ column = "size" }'}},
         ("1.csv line 3, column 'size': run 'a' has '64', and had '32' at 1.csv line 2; what the "
          "mapping reads from it is one value a run")),
        ({"trial": {"status": '{ column = "state", values = { Done = "COMPLETE" } }'}},
         f"1.csv line 2, column 'state': {NO_STATUS}; its values in the mapping are 'Done'"),
        ({"metaparameters": {"learning_rate": '{ column = "state" }'}},
         f"1.csv line 2, column 'state': {NO_RATE}"),
        ({"workload": {"model": '{ column = "path" }'}},
         "1.csv line 2, column 'path': model is \"x/y\", and should be part of a workload's name"),
        ({"runs": {"file": '"runs.csv"'}}, "1.csv line 2: run 'a' is not in runs.csv; closest: 'a"),
        ({"metaparameters": {"schedule": '{ column = "nul" }'}},
         "1.csv line 2, column 'nul': 'x\\x00' has a NUL, which no text may have"),
    ],
)  # fmt: skip
def test_sentences_about_what_a_mapping_reads(tmp_path, changes, sentence):
    rows = [f"a,{step},0.5,{size},done,x/y,x\0" for step, size in ((0, 32), (1, 64))]
    text = "\n".join(["run,step,error,size,state,path,nul", *rows])
    files = {"ignore": '["size", "state", "path", "nul"]'}
    also = {"runs.csv": "run\naa\n"}
    told = refused(tmp_path, {"1.csv": text}, also=also, files=files, **changes)
    assert told.startswith(sentence)


def test_runs_of_one_workload_that_differ(tmp_path):
    text = "run,step,error,goal\na,0,0.5,0.1\nb,0,0.5,0.2\n"
    assert refused(tmp_path, {"1.csv": text}, workload={"goal": '{ column = "goal" }'}) == (
        "1.csv line 3: run 'b' differs from 'a' of the same workload digits/mlp/sgd in "
        "goal (0.2, there 0.1)"
    )
