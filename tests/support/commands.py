"""The command line, run in the process of a test."""

from dataclasses import dataclass
from typing import Protocol

import pytest


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


def caller(capsysbinary: pytest.CaptureFixture[bytes]) -> Call:
    """Runs the command line, and reads what it prints by that fixture."""
    from dbtool.cli.main import run

    def run_here(*words: str) -> Outcome:
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            run(words)
        printed = capsysbinary.readouterr()
        code = exit_info.value.code
        assert isinstance(code, int)
        return Outcome(code, printed.out.decode(errors="replace"), printed.err.decode())

    return run_here
