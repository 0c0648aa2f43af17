"""What works without the libraries that train, what is told of them, and `dbtool doctor`."""

import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import dbtool
from dbtool.core.resources import how_to_install
from tests.support.programs import run_python

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
# By their names in Python; pillow comes with matplotlib, which figures need.
TRAINING = {name: name for name in ("flax", "grain", "jax", "optax", "sentencepiece")} | {
    "google-crc32c": "google_crc32c", "orbax-checkpoint": "orbax", "protobuf": "google.protobuf",
    "pillow": None,
}  # fmt: skip
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if any(name == absent or name.startswith(f"{absent}.") for absent in ABSENT):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from dbtool.cli.main import run
run()
"""


def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command line as if the libraries were not installed, nor others of extras."""
    absent = [name for name in TRAINING.values() if name] + ["jaxlib", "pyiceberg", "ray"]
    return run_python("-c", f"ABSENT = {absent}{WITHOUT}", *words)


def test_the_libraries_are_those_of_the_extra():
    extra = {line.partition(">=")[0] for line in PROJECT["optional-dependencies"]["train"]}
    assert extra == TRAINING.keys()
    assert not extra & {line.partition(">=")[0] for line in PROJECT["dependencies"]}


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("steps digits/* --db DATABASE", None),
        ("produce --list", None),
        ("publish DATABASE --out OUT --licence CC0-1.0", None),
        (
            "publish DATABASE --out OUT --licence CC0-1.0 --catalog iceberg",
            f"Iceberg tables need pyiceberg, which is not installed: {how_to_install('iceberg')}",
        ),
        (
            "produce mnist/fc_1024/sgd --dry-run --out OUT",
            f"training needs jax, which is not installed: {how_to_install('train')}",
        ),
    ],
)
def test_what_needs_a_library_that_is_missing_says_so_and_all_else_works(
    words, needed, database, tmp_path
):
    text = words.replace("DATABASE", str(database)).replace("OUT", str(tmp_path / "out"))
    result = call(*text.split())
    if needed is None:
        assert (result.returncode, "Traceback" in result.stderr) == (0, False), result.stderr
    else:
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr == f"dbtool: {needed}\n"
        assert list(tmp_path.iterdir()) == []


def test_what_is_missing_stands_with_what_brings_it(call, database, tmp_path, monkeypatch):
    libraries = ["duckdb<3,>=1.5", 'jax>=0.10; extra == "train"', "no-such>=1; extra == 'train'"]
    monkeypatch.setattr(importlib.metadata, "requires", {"steps-to-result": libraries}.__getitem__)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("DBTOOL_DATASETS", str(tmp_path / "gone"))
    outcome = call("doctor")
    assert (outcome.code, outcome.errors) == (0, "")
    said = dict(re.findall(r"^(\S.{13}) *(.*(?:\n +->.+)?)$", outcome.output, re.MULTILINE))
    said = {part.strip(): state for part, state in said.items()}
    assert said["dbtool"].startswith(dbtool.__version__)
    assert said["libraries"] == f"duckdb {importlib.metadata.version('duckdb')}"
    state, _, remedy = said["extra train"].partition("\n")
    assert state == "missing: no-such"
    assert "pip install '.[train]'" in remedy
    # Those of gpu and tpu are parts of jax, which no module tells.
    told = set(PROJECT["optional-dependencies"]) - {"gpu", "tpu", "dev", "docs"}
    assert {part.removeprefix("extra ") for part in said if part.startswith("extra ")} == told
    assert said["releases read"] == str(database)
    assert re.fullmatch(r"none\n +-> `dbtool ingest RUNS`", said["your releases"])
    assert re.fullmatch(r"unusable\n +-> .* does not exist; .*", said["data sets"])
