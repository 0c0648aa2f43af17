"""Texts are read however they are written: encodings, spellings of one value, and types."""

import bz2
import gzip
import io
import lzma
from itertools import zip_longest
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.sources.tables.guess import guess
from dbtool.sources.tables.source import read_own_runs
from dbtool.store.texts import read_document, read_typed
from tests.support.own_runs import mapping_text, query, read, trials, values, write


def test_spellings_of_one_value(tmp_path):
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
    assert [(each.name, each.key) for each in source.runs] == [
        ("1", ("1",)), ("007", ("007",))
    ]  # fmt: skip
    assert [trial.metaparameters for trial in trials(source)] == [
        {"learning_rate": 0.001, "on": True}, {"learning_rate": 0.1, "on": False}
    ]  # fmt: skip
    assert [each.study.batch_size for each in source.by_study] == [64]


def test_settings_of_yaml(tmp_path):
    meant: dict[str, Any] = {
        "1_000": 1000.0, "0x10": 16.0, "+0.5": 0.5, ".5": 0.5, "1.e-3": 0.001, "1e-3": 0.001,
        "+5": 5.0, "-1_0.5": -10.5, "1.0": 1.0, "'3'": 3.0, "'+0.5'": 0.5,
        "1609437912434100374": 1609437912434100374, ".inf": "inf", "+.inf": "inf",
        "yes": True, "false": False,
        # Names, in which a digit or a quote tells more than the number.
        "000": "000", "007": "007", "'010'": "010", "1:30": "1:30", "'1_000'": "1_000",
        "0o17": "0o17",
    }  # fmt: skip
    names = [f"x{number}" for number in range(len(meant))]
    lines = [f"{name}: {text}\n" for name, text in zip(names, meant, strict=True)]
    source = read(
        tmp_path,
        {"log.csv": "step,error\n0,0.3\n", "h.yaml": "".join(lines)},
        files={"beside": '["h.yaml"]'},
        metaparameters={name: f'{{ column = "{name}" }}' for name in names}
        | {"learning_rate": None},
    )
    [trial] = trials(source)
    found = [trial.metaparameters[name] for name in names]
    assert dict(zip(meant, found, strict=True)) == meant


def test_merged_objects_of_yaml(tmp_path):
    (tmp_path / "h.yaml").write_text(
        "base: &base {wd: 0.5, lr: 1}\nother: &other {lr: 3, b: 4}\n"
        "opt: {<<: *base, lr: 2}\nboth: {<<: [*base, *other]}\n'<<': 5\n"
    )
    found = read_document(tmp_path / "h.yaml")
    assert {name: text for name, text in found.items() if name[0] in "<o"} == {
        "opt.wd": "0.5", "opt.lr": "2", "other.lr": "3", "other.b": "4", "<<": "5"
    }  # fmt: skip
    (tmp_path / "h.yaml").write_text("opt: {<<: 5}\n")
    with pytest.raises(DbtoolError, match="it is no YAML"):
        read_document(tmp_path / "h.yaml")
    assert [found[f"both.{name}"] for name in ("wd", "lr", "b")] == ["0.5", "1", "4"]


PLAIN = b"run,step,error\na,0,0.3\na,9,0.05\n"


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (pa.compress(PLAIN, codec="zstd", asbytes=True), None),
        (PLAIN.decode().encode("utf-16"), None),
        (b"\xef\xbb\xbf" + PLAIN, None),
        (PLAIN.replace(b",", b"\t"), None),
        (PLAIN.replace(b",", b" , "), "blanks around names and values are left out"),
        (PLAIN.replace(b"a,9", b"run, step,error \na,9"), "header lines that are there again are"),
        (b"\xef\xbb\xbf" + PLAIN.replace(b"a,9", b'\xef\xbb\xbf"run",step,error\na,9'),
         "header lines that are there again are"),
        (PLAIN + b"a,20", "the last line is cut off, as by a crash, and left out"),
        (PLAIN + b'"a,20', "the last line is cut off, as by a crash, and left out"),
        (PLAIN[:-1], "the last line has no line break: it is kept, but may be cut off"),
        (PLAIN + b"a,10,None\na,11,N/A\na,12,\n", None),
    ],
    ids=["zst", "utf-16", "mark", "tabs", "blanks", "header with blanks", "joined files",
         "cut off", "cut in quotes", "no line break", "empty words"],
)  # fmt: skip
def test_files_as_they_are_found(tmp_path, body, note):
    source = read(tmp_path, body, files={"run": '"run"'})
    assert values(source) == [(0, 0.3), (9, 0.05)]
    told = [each for each in source.sentences if note and f"log.csv: {note}" in each]
    assert len(told) == (note is not None)
    # The other readers read the same.
    if b"20" not in body:
        found = read_typed(tmp_path / "log.csv", "csv")
        assert found["error"].to_list()[:2] == [0.3, 0.05]
        assert "run" in guess(tmp_path).mapping


def test_a_compressed_log_that_is_cut_off_loses_its_end_alone(tmp_path):
    # Whole blocks of bz2, which have to be there, hold 100 kB at level 1.
    rows = "".join(f'{{"run": "a", "step": {n}, "error": {0.9 / (n + 1)}}}\n' for n in range(6_000))
    for whole in (
        gzip.compress(rows.encode()),
        bz2.compress(rows.encode(), 1),
        lzma.compress(rows.encode()),
        pa.compress(rows.encode(), codec="zstd", asbytes=True),
    ):
        source = read(tmp_path, whole[: len(whole) // 2], "jsonl", files={"run": '"run"'})
        assert 100 < len(values(source)) < 5_999
        told = "log.jsonl: it is compressed and cut short: what it has is read, and the rest is m"
        assert sum(told in each or "the last line" in each for each in source.sentences) == 1
        with pytest.raises(DbtoolError, match="is compressed and cut short: copy it anew"):
            read_typed(tmp_path / "log.jsonl", "jsonl")
        with pytest.raises(DbtoolError, match="is compressed and cut short: copy it anew"):
            read(tmp_path, whole[:12], "jsonl", files={"run": '"run"'})


def test_whole_numbers_that_floats_have_rounded_are_told(tmp_path):
    file = io.BytesIO()
    steps = pl.Series([0, 2**24 + 2, 2**24 + 5], dtype=pl.Float32)
    pl.DataFrame({"step": steps, "error": [0.3, 0.2, 0.1]}).write_parquet(file)
    told = " ".join(read(tmp_path, file.getvalue(), "parquet").sentences)
    assert "step has rounded its whole numbers above 16,777,216" in told


def test_mappings_in_any_unicode(tmp_path):
    write(tmp_path, {"log.csv": PLAIN})
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        (tmp_path / "mapping.toml").write_bytes(mapping_text().encode(encoding))
        assert read_own_runs([tmp_path / "log.csv"], "csv", tmp_path / "mapping.toml").runs


def test_names_in_paths_as_other_writers_spell_them(tmp_path):
    body = "step,error\n0,0.3\n9,0.05\n"
    source = read(
        tmp_path,
        {"run=a%2Fb/lr=0%2E1/log.csv": body, "run=c/lr=__HIVE_DEFAULT_PARTITION__/log.csv": body},
        paths="run=*/*/log.csv",
        files={"name": '"run={run}/lr={lr}/log.csv"', "run": None},
        metaparameters={"learning_rate": '{ column = "lr", default = 0.5 }'},
    )
    assert [each.name for each in source.runs] == ["a/b", "c"]
    assert [each.metaparameters["learning_rate"] for each in trials(source)] == [0.1, 0.5]


def test_types_are_not_guessed_from_texts(tmp_path):
    of_csv = {
        ("007", "010"): pl.String, ("1", "-2"): pl.Int64,
        ("1.50", "2.25", "nan"): pl.Float64, ("1.5", "1e-3", "2"): pl.Float64,
        ("1.50e+00", "2.25e-03"): pl.Float64, ("1.0E10", "1.0", "3"): pl.Float64,
        # Names, such as of versions, and hashes.
        ("1.10", "1.9"): pl.String, ("1e3", "2e5"): pl.String, ("12e4567", "1234567"): pl.String,
        ("True", "false"): pl.Boolean, ("x", "1"): pl.String,
        ("2024-01-31", "2024-02-01"): pl.Date, ("2024-02-30",): pl.String,
        ("2024-01-31 10:00:00",): pl.Datetime,
        ("1609437912434100374", "0.5"): pl.String, (f"{10**60}",): pl.String,
    }  # fmt: skip
    names = [f"x{number}" for number in range(len(of_csv))]
    rows = [names, *zip_longest(*of_csv, fillvalue="")]
    (tmp_path / "t.csv").write_text("\n".join(map(",".join, rows)))
    found = read_typed(tmp_path / "t.csv", "csv")
    assert {texts: found[name].dtype for texts, name in zip(of_csv, names, strict=True)} == of_csv
    (tmp_path / "t.jsonl").write_text(
        '{"number": 1.10, "nan": 1.5, "quoted": "1", "null": 1}\n'
        '{"number": 1.9, "nan": NaN, "quoted": "2", "null": 2}\n'
        '{"number": 1e3, "null": null}\n'
    )
    of_json = {"number": pl.Float64, "nan": pl.Float64, "quoted": pl.String, "null": pl.Int64}
    assert dict(read_typed(tmp_path / "t.jsonl", "jsonl").schema) == of_json


def test_pandas_types_are_kept(tmp_path):
    frame = pd.DataFrame(
        {"run": ["007", "010"], "step": [0, 0], "error": [0.3, None], "note": ["x", "y"]}
    )
    (tmp_path / "mapping.toml").write_text(mapping_text())
    with pytest.raises(DbtoolError, match=r"^the frame row 1, column 'note': 'x' is not a number"):
        dbtool.ingest(frame, tmp_path / "db", mapping=tmp_path / "mapping.toml")
    dbtool.ingest(frame.drop(columns="note"), tmp_path / "db", mapping=tmp_path / "mapping.toml")
    assert query(tmp_path, "SELECT name FROM trials") == [("007",)]
