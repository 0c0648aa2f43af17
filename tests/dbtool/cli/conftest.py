"""A small database with known contents, and ways to run the command line on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from dbtool.cli.main import run
from tests.support.made_up import write_digits, write_letters


@dataclass(frozen=True)
class Outcome:
    """What a run of the command line printed, and its exit code."""

    code: int
    output: str
    errors: str

    def sentence(self, code: int) -> str:
        """The only line of a command that failed."""
        assert (self.code, self.output) == (code, ""), self.errors
        assert self.errors.startswith("dbtool: ")
        assert self.errors.count("\n") == 1, self.errors
        return self.errors


class Call(Protocol):
    """Runs the command line with some words."""

    def __call__(self, *words: str) -> Outcome: ...


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of two workloads, digits and letters."""
    return write_letters(write_digits(tmp_path_factory.mktemp("database") / "made-up"))


@pytest.fixture
def call(database, monkeypatch, capsysbinary) -> Call:
    """Runs the command line in this process, on the small database."""
    monkeypatch.setenv("DBTOOL_DB", str(database))

    def run_here(*words: str) -> Outcome:
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            run(words)
        printed = capsysbinary.readouterr()
        code = exit_info.value.code
        assert isinstance(code, int)
        return Outcome(code, printed.out.decode(errors="replace"), printed.err.decode())

    return run_here
