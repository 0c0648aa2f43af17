"""What works where the libraries that train are not installed, and what is told where they are."""

import subprocess
import tomllib
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("words", ["steps digits/* --db DATABASE", "produce --list"])
def test_questions_need_no_library_that_trains(words, database):
    result = call(*words.replace("DATABASE", str(database)).split())
    assert result.returncode == 0, result.stderr
    assert result.stdout
    assert "Traceback" not in result.stderr


def test_training_tells_how_to_install_what_it_needs(tmp_path):
    result = call("produce", "mnist/fc_1024/sgd", "--dry-run", "--out", tmp_path / "out")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"dbtool: training needs jax, which is not installed: {how_to_install('train')}\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_tables_of_a_catalog_tell_how_to_install_what_they_need(database, tmp_path):
    words = ("publish", database, "--out", tmp_path / "out", "--licence", "CC0-1.0")
    result = call(*words, "--catalog", "iceberg")
    assert (result.returncode, result.stdout) == (1, "")
    needed = f"pyiceberg, which is not installed: {how_to_install('iceberg')}"
    assert result.stderr == f"dbtool: Iceberg tables need {needed}\n"
    assert list(tmp_path.iterdir()) == []
    assert call(*words).returncode == 0
