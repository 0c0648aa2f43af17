"""Steps are updates, and a history is one branch of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from dbtool.core.errors import DbtoolError
from dbtool.sources.base import add_source
from dbtool.store.table_files import RunsError
from tests.support.own_runs import load, query, read, refused, values

ERROR_AND_LOSS = {"val_classification_error": '"error"', "batch_cross_entropy_error": '"loss"'}
COUNTED: Mapping[str, tuple[str, Mapping[str, Any], list[tuple[int, float]]]] = {
    "tokens, and in another column those of a batch": (
        '{"tokens": 512, "batch": 256, "error": 0.5}\n{"tokens": 1024, "error": 0.25}\n',
        {"step": '{ column = "tokens", divide = { column = "batch" } }'}, [(2, 0.5), (4, 0.25)],
    ),
    "billions of tokens": (
        '{"billions": 0.5, "error": 0.5}\n{"billions": 1, "error": 0.25}\n',
        {"step": '{ column = "billions", times = 1e9, divide = 2.5e8 }'}, [(2, 0.5), (4, 0.25)],
    ),
    "calls of several updates": (
        '{"call": 0.5, "updates": 50, "error": 0.5}\n{"call": 4, "error": 0.25}\n',
        {"step": '{ column = "call", times = { column = "updates" } }'}, [(25, 0.5), (200, 0.25)],
    ),
    "epochs, and parts of them": ('{"epoch": 0.25, "error": 0.5}\n{"epoch": 2, "error": 0.25}\n',
                                  {"step": '{ column = "epoch", times = 4 }'},
                                  [(1, 0.5), (8, 0.25)]),
    "tests counted otherwise": (
        '{"step": 24, "error": 0.5}\n{"step": 49, "error": 0.4}\n{"step": 50, "test": 0.25}\n',
        {"step": '{ column = "step", plus = 1 }'}, [(25, 0.5), (50, 0.4)],
    ),
}  # fmt: skip
TEST = {"test_classification_error": '{ column = "test", plus = 0 }'}


@pytest.mark.parametrize("case", COUNTED)
def test_steps_are_updates(tmp_path, case):
    text, files, expected = COUNTED[case]
    source = read(tmp_path, text, "jsonl", files=files, metrics=TEST if "test" in text else {})
    assert values(source) == expected
    assert not any("tests come" in each for each in source.sentences)
    for step, _ in values(source, "test_classification_error"):
        assert step == 50


LOST = "step,error\n10,0.5\n20,0.3\n30,0.2\n40,0.09\n"
BRANCH = [(10, 0.5), (20, 0.3), (25, 0.28), (35, 0.22), (45, 0.15)]


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        (f"{LOST}25,0.28\n35,0.22\n45,0.15\n", {}, BRANCH),
        (f"{LOST}30,0.21\n45,0.15\n", {}, [(10, 0.5), (20, 0.3), (30, 0.21), (45, 0.15)]),
        (f"{LOST}30,0.21\n45,0.15\n", {"repeated_steps": '"first"'},
         [(10, 0.5), (20, 0.3), (30, 0.21), (45, 0.15)]),
        (f"{LOST}20,0.31\n30,0.21\n40,0.15\n30,0.22\n", {},
         [(10, 0.5), (20, 0.31), (30, 0.22)]),
        (f"{LOST}10,0.4\n20,0.2\n", {"repeated_steps": '"last"'}, [(10, 0.4), (20, 0.2)]),
        # Files in no order, or the newest first, lose nothing.
        ("step,error\n30,0.2\n20,0.3\n10,0.5\n", {}, [(10, 0.5), (20, 0.3), (30, 0.2)]),
        ("step,error\n30,0.2\n10,0.5\n20,0.3\n", {}, [(10, 0.5), (20, 0.3), (30, 0.2)]),
        # Few rows, or many restarts, are in order all the same.
        (f"{LOST}25,0.38\n", {}, [(10, 0.5), (20, 0.3), (25, 0.38)]),
        (f"{LOST}15,0.4\n25,0.3\n18,0.35\n28,0.2\n23,0.3\n33,0.2\n", {},
         [(10, 0.5), (15, 0.4), (18, 0.35), (23, 0.3), (33, 0.2)]),
    ],
    ids=["an older checkpoint", "the same steps again", "not those that were lost",
         "the same steps twice", "started again", "newest first", "no order", "few rows",
         "many restarts"],
)  # fmt: skip
def test_a_branch_that_was_lost(tmp_path, text, files, expected):
    source = read(tmp_path, text, files=files)
    assert values(source) == expected
    assert any("went on from an older checkpoint" in each for each in source.sentences) == (
        text.startswith(LOST)
    )


def test_order_is_that_of_files_and_of_most_of_their_runs(tmp_path):
    # Stopped after every third evaluation, a file for each start.
    starts = {"log1.csv": (10, 20, 30), "log2.csv": (25, 35), "log3.csv": (28, 38, 48)}
    parts = {
        name: "run,step,error\n" + "".join(f"a,{step},0.{step}\n" for step in steps)
        for name, steps in starts.items()
    }
    source = read(tmp_path, parts, files={"run": '"run"'})
    assert [step for step, _ in values(source)] == [10, 20, 25, 28, 38, 48]
    # One of the shuffled runs begins with its first step.
    orders = {"a": (10, 30, 20, 40), "b": (30, 10, 40, 20), "c": (20, 40, 10, 30)}
    rows = "".join(f"{run},{step},0.5\n" for run, steps in orders.items() for step in steps)
    source = read(tmp_path, f"run,step,error\n{rows}", files={"run": '"run"'})
    assert [len(values(source, run=run)) for run in range(3)] == [4, 4, 4]
    assert "rows are in no order of their steps, and are sorted" in source.sentences
    # One run that is in no order does not say so of the others.
    orders = {"a": (10, 20, 40, 30), "b": (10, 20, 40, 30), "c": (20, 40, 10, 30)}
    rows = "".join(f"{run},{step},0.5\n" for run, steps in orders.items() for step in steps)
    source = read(tmp_path, f"run,step,error\n{rows}", files={"run": '"run"'})
    assert [len(values(source, run=run)) for run in range(3)] == [3, 3, 4]


def test_a_lost_branch_is_lost_in_every_metric_but_only_there(tmp_path):
    # The run evaluated nothing between the checkpoint and step 60.
    wide = "step,loss,error\n10,3,0.5\n20,2,\n40,1,0.05\n30,2,\n50,1,\n60,1,0.2\n"
    assert values(read(tmp_path, wide, metrics=ERROR_AND_LOSS)) == [(10, 0.5), (60, 0.2)]
    kept = read(tmp_path, wide, files={"lost_branches": '"keep"'})
    assert (40, 0.05) in values(kept)
    # It evaluated the checkpoint anew, or in another order than it logs the loss.
    for again in ("20,,0.4\n30,2,\n", "20,2,\n20,,0.4\n30,2,\n"):
        text = f"step,loss,error\n10,3,0.5\n20,2,\n20,,0.3\n30,2,\n40,1,\n{again}"
        source = read(tmp_path, text, metrics=ERROR_AND_LOSS)
        assert values(source) == [(10, 0.5), (20, 0.4)]
    # Evaluations that come late are no branch.
    late = "".join(f"{step},1,\n" for step in range(10, 110, 10)) + "90,,0.05\n110,1,\n120,1,\n"
    source = read(tmp_path, f"step,loss,error\n{late}", metrics=ERROR_AND_LOSS)
    assert len(values(source, "batch_cross_entropy_error")) == 12
    # A history a metric begins anew with each of them.
    long = "step,tag,value\n10,loss,3\n20,loss,2\n30,loss,1\n10,error,0.5\n20,error,0.2\n"
    files = {"metric": '"tag"', "value": '"value"'}
    assert values(read(tmp_path, long, files=files)) == [(10, 0.5), (20, 0.2)]


def test_repeated_steps(tmp_path):
    text = "step,error\n0,0.9\n10,0.5\n10,0.4\n10,0.4\n"
    for choice, value in (("first", 0.5), ("last", 0.4)):
        source = read(tmp_path, text, files={"repeated_steps": f'"{choice}"'})
        assert values(source) == [(0, 0.9), (10, value)]
    with pytest.raises(DbtoolError) as error:
        read(tmp_path, text)
    assert str(error.value).replace(f"{tmp_path}/", "") == "; ".join(
        f"log.csv line {line}, column 'error': step 10 is there with another value at log.csv line "
        "3; name every column that tells runs apart in files.run, or choose one with "
        'files.repeated_steps = "first" or, where the run was started again, "last"'
        for line in (4, 5)
    )
    assert len(values(read(tmp_path, "step,error\n0,nan\n0,nan\n1,0.5\n"))) == 2
    # Runs that begin anew may be several, and with "keep" none went on from a checkpoint.
    for text, lost in ((f"{LOST}10,0.4\n20,0.2\n", '"drop"'), (f"{LOST}30,0.21\n", '"keep"')):
        with pytest.raises(DbtoolError, match=r"line 6.* with another value .* in files.run, "):
            read(tmp_path, text, files={"lost_branches": lost})


def test_what_is_odd_is_told(tmp_path):
    files = {"step": '{ column = "step", plus = 1 }'}
    late = read(tmp_path, "step,error,test_err\n49,0.3,\n99,0.2,\n100,,0.2\n", files=files)
    assert any(each.startswith("tests come 1 step after") for each in late.sentences)
    rows = {8: "90000", 16: "40000", 512: "9"}
    curves = {size: f"r{size},1,0.5,{size}\nr{size},{rows[size]},0.4,{size}\n" for size in rows}
    table: Any = {"files": {"run": '"run"'}, "study": {"batch_size": '{ column = "bs" }'}}
    small = read(tmp_path, "run,step,error,bs\n" + "".join(curves.values()), **table)
    sentence = "sees 4,608 examples at batch size 512, and at least 640,000 at others"
    assert any(sentence in each for each in small.sentences)
    # Whether they come at once, or one after the other.
    for size, told in zip(rows, (False, False, True), strict=True):
        alone = read(tmp_path, f"run,step,error,bs\n{curves[size]}", **table)
        assert not any("examples" in each for each in alone.sentences)
        notes = add_source(alone, tmp_path / "db").notes
        assert any(sentence in each for each in notes) == told


@pytest.mark.parametrize(
    ("steps", "column", "told"),
    [
        # Every 10 updates of 8 and 16 examples, and every 160 updates.
        ({8: (80, 160, 240), 16: (160, 320)}, "step", True),
        ({8: (160, 320, 480), 16: (160, 320)}, "step", False),
        ({8: (10, 20, 30), 16: (10, 20)}, "step", False),
        ({8: (80, 160, 240)}, "step", False),
        ({8: (10, 20, 30)}, "train_tokens", True),
    ],
    ids=["examples", "calls", "steps", "one batch size", "a name"],
)
def test_steps_that_may_be_examples_are_told(tmp_path, steps, column, told):
    rows = [f"r{size},{size},{at},0.5\n" for size, every in steps.items() for at in every]
    table: Any = {"files": {"run": '"run"', "step": f'"{column}"'}}
    table["study"] = {"batch_size": '{ column = "bs" }'}
    source = read(tmp_path, f"run,bs,{column},error\n{''.join(rows)}", **table)
    assert any("may count tokens or examples" in each for each in source.sentences) == told
    table["files"]["step"] = f'{{ column = "{column}", divide = {{ column = "bs" }} }}'
    if told and column == "step":
        source = read(tmp_path, f"run,bs,{column},error\n{''.join(rows)}", **table)
        assert not any("may count" in each for each in source.sentences)


@pytest.mark.parametrize(
    ("rows", "tables", "told"),
    [
        (
            "b,70,0.3\nc,30,0.5\nd,80,0.3\n",
            {},
            "2 of 4 runs end before three quarters of the steps",
        ),
        ("b,70,0.3\n", {}, "1 of 2 runs ends before three quarters of the steps"),
        ("b,70,0.3\n", {"workload": {"goal": None}}, "1 of 2 runs ends before"),
        ("b,70,0.09\n", {}, None),
        ("b,70,nan\n", {}, None),
        ("b,70,0.3\n", {"study": {"early_stopping": "true"}}, None),
        ("b,70,0.3\n", {"study": {"train_steps": "100"}}, None),
        ("b,70,0.3\n", {"trial": {"status": '"COMPLETE"'}}, None),
    ],
    ids=["runs", "run", "no goal", "at the goal", "diverged", "early stopping", "steps", "status"],
)
def test_runs_that_may_have_been_stopped_are_told(tmp_path, rows, tables, told):
    text = f"run,step,error\na,10,0.9\na,100,0.2\n{rows}"
    source = read(tmp_path, text, files={"run": '"run"'}, **tables)
    found = [each for each in source.sentences if "map trial.status, or study.train_steps" in each]
    assert [each[: len(told or "")] for each in found] == ([told] if told else [])


def test_a_column_of_rows_that_names_the_run_is_told(tmp_path):
    text = "seed,time,step,error\n" + "".join(f"0,{n}.5,{n},0.5\n" for n in range(5))
    told = "5 runs of one step each, since time differs in each row: is that what names"
    for run, of_rows in (('"time"', True), ('["seed", "time"]', True), ('"seed"', False)):
        source = read(tmp_path, text, files={"ignore": '["time"]', "run": run})
        assert any(each.startswith(told) for each in source.sentences) == of_rows


@pytest.mark.parametrize(
    ("steps", "sampled"),
    [
        # 500 of 5,000 steps at random gaps, as run.history() leaves them.
        (sorted({(7919 * n) % 5000 for n in range(500)}), True),
        (range(0, 5000, 10), True),
        (range(1, 501), False),
        (range(0, 4990, 10), False),
        (range(0, 10_000, 10), False),
        ([1, *range(10, 10_000, 10)], False),
        (sorted({(7919 * n) % 200_000 for n in range(10_000)}), True),
    ],
    ids=["irregular", "even", "from 1", "499 even", "1,000 even", "from 10", "10,000"],
)
def test_histories_that_were_sampled_are_refused(tmp_path, steps, sampled):
    text = "step,error\n" + "".join(f"{step},0.5\n" for step in steps)
    if sampled:
        with pytest.raises(RunsError, match=r"the history of run 'log' has exactly 1?0?,?[05]00? "):
            read(tmp_path, text)
    else:
        assert len(values(read(tmp_path, text))) == len(steps)
    assert len(values(read(tmp_path, text, files={"sampled": "true"}))) == len(steps)


def test_final_values_alone_are_refused_where_there_is_a_goal(tmp_path):
    text = "run,step,error\na,900,0.05\nb,800,0.2\n"
    assert "each run has one step, as tables of final values" in refused(tmp_path, {"1.csv": text})
    load(tmp_path, {"1.csv": text}, files={"sampled": "true"})
    # What is known to be missing is stored with the trials.
    assert query(tmp_path, "SELECT producer->>'sampled' FROM trials") == [("true",), ("true",)]
    files = {"run": '"run"'}
    assert len(read(tmp_path, text, files=files, workload={"goal": None}).runs) == 2
    # A run that has just begun has its first step alone.
    assert len(read(tmp_path, "run,step,error\na,0,0.9\n", files=files).runs) == 1
