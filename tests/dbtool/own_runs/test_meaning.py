"""A number means what it says: inputs that were read wrongly once, each with the right values."""

import bz2
import gzip
import io
import json
import lzma
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.index import Index
from dbtool.sources.base import add_source
from dbtool.sources.numbers import narrow_bits, same, transformed, whole_number
from dbtool.sources.tables.guess import guess
from dbtool.sources.tables.source import RunSource, read_own_runs
from dbtool.sources.tables.studies import new_shards
from dbtool.store.texts import read_typed
from tests.support.own_runs import mapping_text, query

ONE_RUN: Mapping[str, str | None] = {"run": None}
ACCURACY = {"val_classification_error": '{ column = "acc", transform = "1 - x" }'}
ERROR_AND_LOSS = {"val_classification_error": '"error"', "batch_cross_entropy_error": '"loss"'}


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def read(
    folder: Path,
    contents: Mapping[str, str | bytes] | str | bytes,
    kind: Any = "csv",
    paths: str = "log*",
    **changes: Any,
) -> RunSource:
    """The runs in files, or in one that is a run."""
    _write(folder, contents if isinstance(contents, Mapping) else {f"log.{kind}": contents})
    (folder / "mapping.toml").write_text(mapping_text(**{"files": ONE_RUN, **changes}))
    return read_own_runs([folder / paths], kind, folder / "mapping.toml")


def values(
    source: RunSource, metric: str = "val_classification_error", run: int = 0
) -> list[tuple[int, float]]:
    """The steps and values of a metric of a run."""
    found = source.runs[run].values.filter(pl.col("metric") == metric)
    return found.select("step", "value").rows()


def trials(source: RunSource) -> list[Any]:
    shards = new_shards(source.by_study, source.mapping, Index())
    return [trial for footer, _ in shards for trial in footer.trials]


COUNTED: Mapping[str, tuple[str, Mapping[str, Any], list[tuple[int, float]]]] = {
    "a counter of updates beside wandb's": (
        ('{"_step": 0, "trainer/global_step": 49, "error": 0.5}\n'
        '{"_step": 1, "trainer/global_step": 99, "error": 0.25}\n'),
        {"files": {"run": None, "step": '{ column = "trainer/global_step", plus = 1 }'}},
        [(50, 0.5), (100, 0.25)],
    ),
    "tokens": (
        '{"tokens": 4194304, "error": 0.5}\n{"tokens": 8388608.0, "error": 0.25}\n',
        {"files": {"run": None, "step": '{ column = "tokens", divide = 4194304 }'}},
        [(1, 0.5), (2, 0.25)],
    ),
    "calls of several updates": (
        '{"call": 4, "updates": 25, "error": 0.5}\n{"call": 8, "error": 0.25}\n',
        {"files": {"run": None, "step": '{ column = "call", times = { column = "updates" } }'}},
        [(100, 0.5), (200, 0.25)],
    ),
    "tests counted otherwise": (
        '{"step": 24, "error": 0.5}\n{"step": 49, "error": 0.4}\n{"step": 50, "test": 0.25}\n',
        {
            "files": {"run": None, "step": '{ column = "step", plus = 1 }'},
            "metrics": {"test_classification_error": '{ column = "test", plus = 0 }'},
        },
        [(25, 0.5), (50, 0.4)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTED)
def test_steps_are_updates(tmp_path: Path, case: str) -> None:
    text, changes, expected = COUNTED[case]
    source = read(tmp_path, text, "jsonl", **changes)
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
        (f"{LOST}30,0.21\n45,0.15\n", {"repeated_steps": '"last"'},
         [(10, 0.5), (20, 0.3), (30, 0.21), (45, 0.15)]),
        # Files in no order, or the newest first, lose nothing.
        ("step,error\n30,0.2\n20,0.3\n10,0.5\n", {}, [(10, 0.5), (20, 0.3), (30, 0.2)]),
        ("step,error\n30,0.2\n10,0.5\n20,0.3\n", {}, [(10, 0.5), (20, 0.3), (30, 0.2)]),
    ],
    ids=["an older checkpoint", "the same steps again", "newest first", "no order"],
)  # fmt: skip
def test_a_branch_that_was_lost(tmp_path: Path, text: str, files: Any, expected: Any) -> None:
    source = read(tmp_path, text, files={**ONE_RUN, **files})
    assert values(source) == expected
    assert any("went on from an older checkpoint" in each for each in source.sentences) == (
        text.startswith(LOST)
    )


def test_a_lost_branch_is_lost_in_every_metric_but_only_there(tmp_path: Path) -> None:
    # The run evaluated nothing between the checkpoint and step 60.
    wide = "step,loss,error\n10,3,0.5\n20,2,\n40,1,0.05\n30,2,\n50,1,\n60,1,0.2\n"
    assert values(read(tmp_path, wide, metrics=ERROR_AND_LOSS)) == [(10, 0.5), (60, 0.2)]
    kept = read(tmp_path, wide, files={**ONE_RUN, "lost_branches": '"keep"'})
    assert (40, 0.05) in values(kept)
    # Evaluations that come late are no branch.
    late = "".join(f"{step},1,\n" for step in range(10, 110, 10)) + "90,,0.05\n110,1,\n120,1,\n"
    source = read(tmp_path, f"step,loss,error\n{late}", metrics=ERROR_AND_LOSS)
    assert len(values(source, "batch_cross_entropy_error")) == 12
    # A history a metric begins anew with each of them.
    long = "step,tag,value\n10,loss,3\n20,loss,2\n30,loss,1\n10,error,0.5\n20,error,0.2\n"
    files = {**ONE_RUN, "metric": '"tag"', "value": '"value"'}
    assert values(read(tmp_path, long, files=files)) == [(10, 0.5), (20, 0.2)]


FILLED = [(200, 0.42), (400, 0.34)]


@pytest.mark.parametrize(
    ("rows", "status", "expected"),
    [
        # What was not logged at a step, as an outer join of data frames leaves it.
        ([(1.9, "NaN"), (1.8, 0.42), (1.7, "NaN"), (1.6, 0.34), (1.5, "NaN")], "COMPLETE", FILLED),
        ([(1.9, "NaN"), ("NaN", 0.42), (1.7, "NaN"), ("NaN", 0.34)], "COMPLETE", FILLED),
        ([(1.9, "null"), (1.8, 0.42), ("NaN", "null"), ("NaN", 0.34)], "INFEASIBLE", FILLED),
        ([(1.9, 0.5), ("NaN", "null"), (1.7, "null")], "COMPLETE", [(100, 0.5)]),
    ],
    ids=["an evaluation", "each beside the other", "diverged", "came back"],
)
def test_missing_is_not_diverged(
    tmp_path: Path, rows: Any, status: str, expected: list[tuple[int, float]]
) -> None:
    text = "".join(
        f'{{"step": {100 * number}, "loss": {loss}, "error": {error}}}\n'
        for number, (loss, error) in enumerate(rows, start=1)
    )
    source = read(tmp_path, text, "jsonl", metrics=ERROR_AND_LOSS)
    assert values(source) == expected
    assert [trial.status for trial in trials(source)] == [status]


def _csv(column: list[Any]) -> bytes:
    rows = (f"{10 * number},{value}\n" for number, value in enumerate(column))
    return f"step,acc\n{''.join(rows)}".encode()


def _parquet(column: list[Any]) -> bytes:
    file = io.BytesIO()
    array = pa.array(np.array(column), type=pa.from_numpy_dtype(np.array(column).dtype))
    pq.write_table(pa.table({"step": list(range(0, 10 * len(column), 10)), "acc": array}), file)
    return file.getvalue()


NARROW = [0.98, 0.99, 0.9913]
WIDER = [float(np.float32(each)) for each in NARROW]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("csv", _csv(WIDER)),
        ("csv", _csv([f"{each:.10f}" for each in WIDER])),
        ("jsonl", "".join(f'{{"step": {10 * n}, "acc": {x}}}\n' for n, x in enumerate(WIDER))),
        ("parquet", _parquet(WIDER)),
        ("parquet", _parquet(np.array(NARROW, np.float32))),  # type: ignore[arg-type]
    ],
    ids=["csv", "ten digits", "json", "64-bit parquet", "32-bit parquet"],
)  # fmt: skip
def test_narrow_floats_are_the_decimals_that_were_logged(
    tmp_path: Path, kind: str, body: str | bytes
) -> None:
    source = read(tmp_path, body, kind, metrics=ACCURACY)
    assert values(source) == [(0, 0.02), (10, 0.01), (20, 0.0087)]
    told = any("acc has numbers of 32 bits" in each for each in source.sentences)
    assert told == (body != _parquet(np.array(NARROW, np.float32)))  # type: ignore[arg-type]
    as_is = {**ONE_RUN, "float32": "false"}
    if told:
        assert values(read(tmp_path, body, kind, metrics=ACCURACY, files=as_is))[1][1] != 0.01


@given(st.lists(st.decimals(0, 100, places=3).map(float), min_size=3), st.sampled_from([16, 32]))
def test_narrow_floats_are_recognised(decimals: list[float], bits: int) -> None:
    kind = np.float16 if bits == 16 else np.float32
    # A thousandth is below what 16 bits hold of larger numbers.
    logged = [kind(each / 100 if bits == 16 else each) for each in [*decimals, 8.1]]
    texts = pl.Series([repr(float(each)) for each in logged])
    assert narrow_bits(pl.DataFrame({"column": "x", "text": texts})) == {"x": bits}
    assert transformed(texts, None, bits=bits).to_list() == [float(str(each)) for each in logged]


@given(
    st.lists(st.floats(0, 1).filter(lambda x: float(np.float32(x)) != x), min_size=1)
    | st.lists(st.integers(0, 1024).map(lambda each: each / 1024), min_size=1)
    | st.lists(st.decimals(0, 1, places=5).map(float), min_size=1)
)
def test_other_floats_are_left_alone(numbers: list[float]) -> None:
    texts = [repr(each) for each in numbers]
    assert narrow_bits(pl.DataFrame({"column": "x", "text": texts})) == {}


@pytest.mark.parametrize(
    ("text", "changes", "sentence"),
    [
        ("step,error\n0,0.3\n9,0.05\n", {"workload": {"goal": "5"}},
         "the goal 5 is not a share from 0 to 1, as val_classification_error is; 5 % is 0.05"),
        ("step,val_acc\n0,0.09\n9,0.91\n", {"metrics": {"val_classification_error": '"val_acc"'}},
         ("the column 'val_acc' is accuracy by its name, and metrics.val_classification_error of "
         'the mapping takes it for another: give it transform = "1 - x"')),
        ("step,val_err\n0,9\n9,1\n", {"metrics": {
            "val_classification_error": '{ column = "val_err", transform = "1 - x / 100" }'}},
         ("the column 'val_err' is error by its name, and metrics.val_classification_error of the "
         'mapping takes it for another: give it transform = "x / 100"')),
        ("step,val_ppl\n0,9\n9,2\n", {
            "metrics": {"val_cross_entropy_error": '"val_ppl"', "val_classification_error": None},
            "workload": {"metric": '"val_cross_entropy_error"'}},
         ("the column 'val_ppl' is perplexity by its name, and metrics.val_cross_entropy_error of "
         'the mapping takes it for another: give it transform = "log(x)"')),
        ("_step,iter,error\n0,10,0.3\n1,20,0.05\n", {"files": {"run": None, "step": '"_step"'}},
         ("'_step' counts the calls of wandb.log, and 'iter' the updates: say files.step = 'iter', "
         "or name 'iter' in files.ignore")),
        ("tokens,error\n52428800,0.3\n", {
            "files": {"run": None, "step": '{ column = "tokens", divide = 4194304 }'}},
         ("log.csv line 2, column 'tokens': '52428800' divided by 4194304 is not a step, a whole "
         "number from 0 to 9,223,372,036,854,775,807")),
        ("step,error,seed\n0,0.3,1.6094379124341003e18\n", {
            "trial": {"seed": '{ column = "seed" }'}, "files": {"run": None, "step": '"step"'}},
         ("log.csv line 2, column 'seed': seed is '1.6094379124341003e18', which a float has "
         "rounded: write all digits")),
        ("number,value,state,datetime_start\n0,0.3,COMPLETE,2024-01-01\n", {},
         ("log.csv is a table of Optuna's trials, with one final value each: when a trial came "
          "past a goal is not in it; log the values on the way, or say files.sampled = true to "
          "take what there is")),
        ("step,error,user\n0,0.3,ann\n", {"metaparameters": {"user": '"?"'}},
         ('the mapping mapping.toml: metaparameters.user is "?", and should be a finite number, a '
         "truth or text, or a column as in { column = … }")),
    ],
    ids=["a goal in percent", "an accuracy", "an error", "a perplexity", "calls", "tokens",
         "a rounded seed", "optuna", "a question mark"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, text: str, changes: Any, sentence: str
) -> None:
    with pytest.raises(DbtoolError) as error:
        read(tmp_path, text, **changes)
    assert str(error.value).replace(f"{tmp_path}/", "") == sentence


def test_values_that_contradict_a_name_are_believed(tmp_path: Path) -> None:
    falls = read(
        tmp_path,
        "step,acc\n0,0.9\n9,0.1\n",
        metrics={"val_classification_error": '"acc"'},
        files=ONE_RUN,
    )
    assert values(falls) == [(0, 0.9), (9, 0.1)]
    rises = read(tmp_path, "step,error\n0,0.1\n9,0.9\n")
    assert "is 'error' an accuracy?" not in " ".join(rises.sentences)
    nameless = read(
        tmp_path, "step,top\n0,0.1\n9,0.9\n", metrics={"val_classification_error": '"top"'}
    )
    assert "val_classification_error rises: is 'top' an accuracy?" in nameless.sentences


def test_a_goal_in_percent_is_refused_by_every_question(tmp_path: Path) -> None:
    frame = pl.DataFrame({"run": ["a", "a"], "step": [0, 9], "error": [0.3, 0.05]})
    (tmp_path / "mapping.toml").write_text(mapping_text())
    # Any frame: of Polars, lazily too, pandas or Arrow.
    for each in (frame, frame.lazy(), frame.to_pandas(), frame.to_arrow()):
        dbtool.ingest(each, tmp_path / "db", mapping=tmp_path / "mapping.toml")
    assert query(tmp_path, "SELECT count(*) FROM measurements") == [(2,)]
    with pytest.raises(UsageError, match="a frame needs mapping=FILE, which says"):
        dbtool.ingest(frame, tmp_path / "db")
    ask: list[Callable[[Any], object]] = [
        lambda db: db.steps("*", goal=5),
        lambda db: db.scaling("*", goal=5),
        lambda db: dbtool.diff(db, db, goal=5),
    ]
    with dbtool.open(tmp_path / "db") as db:
        for question in ask:
            with pytest.raises(UsageError, match=r"the goal 5 is not a share .*; 5 % is 0\.05$"):
                question(db)


WHOLE = st.integers(-(2**62), 2**62)


@given(WHOLE, st.integers(1, 10**9))
def test_whole_numbers_are_exact_or_refused(number: int, divisor: int) -> None:
    assert whole_number(str(number * divisor), divide=divisor) == (
        number if abs(number * divisor) < 10**390 else None
    )
    assert whole_number(repr(float(number))) in ({number} if abs(number) <= 2**53 else {None})


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.integers(0, 3))
def test_equal_numbers_are_equal(number: Any, zeros: int) -> None:
    written = f"{number:f}"
    spelled = [f"{written}{'0' * zeros}", f"{number:e}", f"{number:E}", repr(number)[9:-2]]
    assert len(set(map(same, spelled))) == 1


@pytest.mark.parametrize("text", ["007", "+1", "1_0", "0x1", "1.", ".5", "v1", "1e", ""])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert same(text) == text


def test_spellings_of_one_value(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        {
            "log.csv": "run,step,error,bs,lr,on\n1,0,0.3,32.0,0.001,True\n1.0,9,0.05,32,1e-3,true\n"
            "007,0,0.3,32,0.1,False\n",
            "runs.csv": "run,tag\n1.00,x\n007,y\n",
        },
        files={"run": '"run"'},
        runs={"file": '"runs.csv"'},
        study={"batch_size": '{ column = "bs", values = { "32.00" = 64 } }'},
        metaparameters={"learning_rate": '{ column = "lr" }', "on": '{ column = "on" }'},
    )
    assert [(each.run.name, each.run.key) for each in source.runs] == [
        ("1", ("1",)), ("007", ("007",))
    ]  # fmt: skip
    assert [trial.metaparameters for trial in trials(source)] == [
        {"learning_rate": 0.001, "on": True}, {"learning_rate": 0.1, "on": False}
    ]  # fmt: skip
    assert [each.study.batch_size for each in source.by_study] == [64]


def test_one_reader_of_settings(tmp_path: Path) -> None:
    files = {
        f"v{n}/log.csv": "step,error\n0,0.3\n9,0.05\n" for n in range(2)
    } | {
        "v0/h.yaml": "clip: .inf\nnesterov: yes\nid: 0x1F\nnode: 007\nseed: 1609437912434100374\n",
        "v1/h.yaml": "clip: 1.0\nnesterov: false\nid: '3'\nnode: '010'\nseed: 3\n",
    }  # fmt: skip
    columns = ("clip", "nesterov", "id", "node", "seed")
    source = read(
        tmp_path,
        files,
        paths="v*/log.csv",
        files={"name": '"v{run}/log.csv"', "run": None, "beside": '["h.yaml"]'},
        metaparameters={name: f'{{ column = "{name}" }}' for name in columns}
        | {"learning_rate": None},
    )
    exact = {"seed": 1609437912434100374}
    assert [trial.metaparameters for trial in trials(source)] == [
        {"clip": "inf", "nesterov": True, "id": "0x1F", "node": "007", **exact},
        {"clip": 1.0, "nesterov": False, "id": 3.0, "node": "010", "seed": 3.0},
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.json", '{"lr": 1, "lr": 2}'), ("h.yaml", "lr: 1\nlr: 2\n"),
        ("h.json", '{"o": {"lr": 1}, "o.lr": 2}'),
    ],
)  # fmt: skip
def test_a_key_with_two_values_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DbtoolError, match=r"column '(o\.)?lr': it is there twice: rename one"):
        read(
            tmp_path,
            {"log.csv": "step,error\n0,0.3\n", name: text},
            files={**ONE_RUN, "beside": f'["{name}"]'},
        )


PLAIN = b"run,step,error\na,0,0.3\na,9,0.05\n"
ZSTD = pa.compress(PLAIN, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (gzip.compress(PLAIN), None),
        (bz2.compress(PLAIN), None),
        (lzma.compress(PLAIN), None),
        (ZSTD, None),
        (PLAIN.decode().encode("utf-16"), None),
        (b"\xef\xbb\xbf" + PLAIN, None),
        (PLAIN.decode().encode("utf-32"), None),
        (PLAIN.replace(b",", b"\t"), None),
        (PLAIN.replace(b",", b" , "), "blanks around names and values are left out"),
        (PLAIN.replace(b"a,9", b"run,step,error\na,9"), "header lines that are there again are sk"),
        (PLAIN + b"a,20", "the last line is cut off, as by a crash, and left out"),
        (PLAIN + b'"a,20', "the last line is cut off, as by a crash, and left out"),
        (PLAIN[:-1], "the last line has no line break: it is kept, but may be cut off"),
        (PLAIN + b"a,10,None\na,11,N/A\na,12,\n", None),
    ],
    ids=["gz", "bz2", "xz", "zst", "utf-16", "mark", "utf-32", "tabs", "blanks", "header again",
         "cut off", "cut in quotes", "no line break", "empty words"],
)  # fmt: skip
def test_files_as_they_are_found(tmp_path: Path, body: bytes, note: str | None) -> None:
    source = read(tmp_path, body, files={"run": '"run"'})
    assert values(source) == [(0, 0.3), (9, 0.05)]
    told = [each for each in source.sentences if note and f"log.csv: {note}" in each]
    assert len(told) == (note is not None)
    # The other readers read the same.
    if b"20" not in body:
        found = read_typed(tmp_path / "log.csv", "csv")
        assert found["error"].to_list()[:2] == [0.3, 0.05]
        assert "run" in guess(tmp_path).mapping


def test_a_compressed_log_that_is_cut_off_loses_its_end_alone(tmp_path: Path) -> None:
    rows = "".join(f'{{"run": "a", "step": {n}, "error": {0.9 / (n + 1)}}}\n' for n in range(1_500))
    for whole in (gzip.compress(rows.encode()), lzma.compress(rows.encode())):
        source = read(tmp_path, whole[: len(whole) // 2], "jsonl", files={"run": '"run"'})
        assert 100 < len(values(source)) < 1_499


def test_whole_numbers_that_floats_have_rounded_are_told(tmp_path: Path) -> None:
    file = io.BytesIO()
    steps = pl.Series([0, 2**24 + 2, 2**24 + 5], dtype=pl.Float32)
    pl.DataFrame({"step": steps, "error": [0.3, 0.2, 0.1]}).write_parquet(file)
    told = " ".join(read(tmp_path, file.getvalue(), "parquet").sentences)
    assert "step has rounded its whole numbers above 16,777,216" in told


def test_mappings_in_any_unicode(tmp_path: Path) -> None:
    _write(tmp_path, {"log.csv": PLAIN})
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        (tmp_path / "mapping.toml").write_bytes(mapping_text().encode(encoding))
        assert read_own_runs([tmp_path / "log.csv"], "csv", tmp_path / "mapping.toml").release


def test_names_in_paths_as_other_writers_spell_them(tmp_path: Path) -> None:
    body = "step,error\n0,0.3\n9,0.05\n"
    source = read(
        tmp_path,
        {"run=a%2Fb/lr=0%2E1/log.csv": body, "run=c/lr=__HIVE_DEFAULT_PARTITION__/log.csv": body},
        paths="run=*/*/log.csv",
        files={"name": '"run={run}/lr={lr}/log.csv"', "run": None},
        metaparameters={"learning_rate": '{ column = "lr", default = 0.5 }'},
    )
    assert [each.run.name for each in source.runs] == ["a/b", "c"]
    assert [each.metaparameters["learning_rate"] for each in trials(source)] == [0.1, 0.5]


@pytest.mark.parametrize(
    ("text", "kind", "types"),
    [
        ("007\n010\n", "csv", pl.String), ("1\n-2\n", "csv", pl.Int64),
        ("1.50\n1e-3\nnan\n", "csv", pl.Float64), ("True\nfalse\n", "csv", pl.Boolean),
        ("2024-01-31\n2024-02-01\n", "csv", pl.Date), ("2024-02-30\n", "csv", pl.String),
        ("1609437912434100374\n0.5\n", "csv", pl.String), ("x\n1\n", "csv", pl.String),
        ("2024-01-31 10:00:00\n", "csv", pl.Datetime), (f"{10**60}\n", "csv", pl.String),
        ("1.5\nNaN\n", "jsonl", pl.Float64), ('"007"\n"010"\n', "jsonl", pl.String),
        ('"1"\n"2"\n', "jsonl", pl.String), ("1\n2\nnull\n", "jsonl", pl.Int64),
    ],
)  # fmt: skip
def test_types_are_not_guessed_from_texts(
    tmp_path: Path, text: str, kind: Any, types: pl.DataType
) -> None:
    path = tmp_path / f"t.{kind}"
    rows = [f'{{"x": {row}}}\n' for row in text.splitlines()]
    path.write_text(f"x\n{text}" if kind == "csv" else "".join(rows))
    assert read_typed(path, kind)["x"].dtype == types


RUNS = {"a/log.csv": "step,loss,eval_accuracy\n10,1,\n20,0.5,0.7\n30,0.4,0.8\n"}
RUNS["b/log.csv"] = RUNS["a/log.csv"].replace("0.8", "0.9")


@pytest.mark.parametrize(
    ("settings", "study"),
    [
        ({"batch_size": 12, "gradient_accumulation_steps": 40}, "batch_size 12 x gradient_accu"),
        (
            {"per_device_train_batch_size": 8, "train_batch_size": 8, "world_size": 4},
            "= 32, unless",
        ),
        ({"batch_size": 12, "gradient_accumulation_steps": 1}, None),
        ({"global_batch_size": 64, "world_size": 4}, None),
    ],
)
def test_a_batch_size_of_a_device_is_not_the_global_one(
    tmp_path: Path, settings: dict[str, int], study: str | None
) -> None:
    _write(tmp_path, RUNS | {f"{run}/config.json": json.dumps(settings) for run in "ab"})
    mapping = guess(tmp_path).mapping
    [line] = re.findall(r"^batch_size = .*", mapping.partition("[study]")[2], re.MULTILINE)[:1]
    assert ('"?"' in line) == (study is not None)
    assert study is None or study in line


def test_what_tells_who_where_and_when_is_no_metaparameter(tmp_path: Path) -> None:
    about = {
        "user": "ann", "hostname": "node7", "output_dir": "/data/ann/runs", "git_commit": "ab12",
        "start_time": "2024-01-31T10:00:00", "created_at": 1706695200, "best_val_acc": 0.93,
        "seed": 1700000000,
        "final_loss": 0.2, "data": "s3://bucket/a/b", "checkpoint": "last.ckpt",
        "lr": 0.1, "criterion": "mse", "loss_weight": 0.5, "nodes_hidden": 64,
    }  # fmt: skip
    _write(tmp_path, RUNS | {f"{run}/config.json": json.dumps(about) for run in "ab"})
    mapping = tomllib.loads(guess(tmp_path).mapping)
    expected = {"learning_rate", "criterion", "loss_weight", "nodes_hidden"}
    assert {*mapping["metaparameters"]} == expected


def test_guess_counts_steps_as_ingest_takes_them(tmp_path: Path) -> None:
    for number, (text, line) in enumerate(
        (
            ('{"_step": 0, "loss": 2}\n{"_step": 1, "loss": 1}\n{"_step": 2, "loss": 1}\n',
             'step = { column = "_step", times = "?", plus = 1 }'),
            ('{"_step": 0, "global_step": 50, "loss": 2}\n{"_step": 1, "global_step": 99}\n',
             'step = "global_step"'),
            ('{"step": 49, "loss": 2}\n{"step": 99, "loss": 1}\n{"step": 100, "test_acc": 0.5}\n',
             'step = { column = "step", plus = 1 }'),
        )
    ):  # fmt: skip
        folder = tmp_path / str(number)
        _write(folder, {"log.jsonl": text})
        found = guess(folder).mapping
        assert line in found
        assert ("plus = 0" in found) == ("test_acc" in text)


@pytest.mark.parametrize(
    "text",
    [
        "step,r1 - val/err,r1 - val/err__MIN,r1 - val/err__MAX\n0,0.3,0.2,0.4\n",
        "number,value,datetime_start,datetime_complete,params_lr,state\n0,0.3,x,y,0.1,COMPLETE\n",
    ],
    ids=["a chart", "optuna"],
)
def test_what_guess_refuses_ingest_refuses_in_the_same_words(tmp_path: Path, text: str) -> None:
    with pytest.raises(DbtoolError) as refused:
        read(tmp_path, text)
    with pytest.raises(DbtoolError, match=re.escape(str(refused.value))):
        guess(tmp_path)


def test_what_is_odd_is_told(tmp_path: Path) -> None:
    files = {"run": None, "step": '{ column = "step", plus = 1 }'}
    late = read(tmp_path, "step,error,test_err\n49,0.3,\n99,0.2,\n100,,0.2\n", files=files)
    assert any(each.startswith("tests come 1 step after") for each in late.sentences)
    rows = {8: "90000", 16: "40000", 512: "9"}
    curves = {size: f"r{size},1,0.5,{size}\nr{size},{rows[size]},0.4,{size}\n" for size in rows}
    table = {"files": {"run": '"run"'}, "study": {"batch_size": '{ column = "bs" }'}}
    small = read(tmp_path, "run,step,error,bs\n" + "".join(curves.values()), **table)
    sentence = "sees 4,608 examples at batch size 512, and at least 640,000 at others"
    assert any(sentence in each for each in small.sentences)
    # Whether they come at once, or one after the other.
    for size, told in zip(rows, (False, False, True), strict=True):
        alone = read(tmp_path, f"run,step,error,bs\n{curves[size]}", **table)
        assert not any("examples" in each for each in alone.sentences)
        notes = add_source(alone, tmp_path / "db").notes
        assert any(sentence in each for each in notes) == told


def test_pandas_types_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"run": ["007", "010"], "step": [0, 0], "error": [0.3, None], "note": ["x", "y"]}
    )
    (tmp_path / "mapping.toml").write_text(mapping_text())
    with pytest.raises(DbtoolError, match=r"^the frame row 1, column 'note': 'x' is not a number"):
        dbtool.ingest(frame, tmp_path / "db", mapping=tmp_path / "mapping.toml")
    dbtool.ingest(frame.drop(columns="note"), tmp_path / "db", mapping=tmp_path / "mapping.toml")
    assert query(tmp_path, "SELECT name FROM trials") == [("007",)]
