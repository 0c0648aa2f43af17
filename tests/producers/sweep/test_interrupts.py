"""Sweeps that Ctrl-C or a scheduler's signal stops in the middle of a block, on a terminal."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.sweeps import (
    CONSOLE_SCRIPT,
    WORKLOAD,
    assert_same_rows,
    fast_start,
    in_place_of_mnist,
    produce,
    statuses,
    unlisted,
)
from tests.support.terminal import run_on_terminal

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 20_000
BASE = (WORKLOAD, "--batch-sizes", "8", "--trials", "2", "--steps", str(STEPS))
CHOICES = {
    "fixed": (),
    # A goal that none reaches, so that a round goes to its end.
    "lockstep": ("--search", "lockstep", "--goal", "-1"),
}
COLUMNS = 80


@dataclass(frozen=True)
class Sweep:
    """A command that trains one block, and the folder of a run that nothing stopped."""

    words: tuple[str, ...]
    environment: dict[str, str]
    expected: Path

    def interrupted(self, out: Path, at: str, number: int = signal.SIGINT) -> tuple[int, str]:
        return run_on_terminal(
            [CONSOLE_SCRIPT, "produce", *self.words, "--out", out],
            columns=COLUMNS,
            environment=self.environment,
            interrupt_at=at,
            interrupt_with=number,
        )

    def assert_goes_on(self, out: Path) -> None:
        result = produce(*self.words, "--out", out, **self.environment)
        assert result.returncode == 0, result.stderr
        assert_same_rows(out, self.expected)
        assert len(statuses(out)) == 2
        assert unlisted(out) == []


@pytest.fixture(scope="module", params=CHOICES)
def sweep(
    request: pytest.FixtureRequest, made_up_mnist: Path, tmp_path_factory: pytest.TempPathFactory
) -> Sweep:
    words = (*BASE, *CHOICES[request.param], *in_place_of_mnist(made_up_mnist))
    environment = fast_start(tmp_path_factory.mktemp("compiled"))
    out: Path = tmp_path_factory.mktemp("undisturbed")
    result = produce(*words, "--out", out, **environment)
    assert result.returncode == 0, result.stderr
    return Sweep(words, environment, out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_trained_is_saved_and_not_trained_again(
    sweep: Sweep, tmp_path: Path, number: int
) -> None:
    # A speed is shown from the first steps on.
    code, shown = sweep.interrupted(tmp_path, "trial-steps/s", number)
    assert code == 128 + number, shown
    last = shown.strip().splitlines()[-1]
    found = re.search(
        r"dbtool: interrupted; .* holds 0 of 1 studies, and .*/fc_64_64_64/sgd at batch size 8 "
        r"is saved at step ([\d,]+); the same command goes on$",
        last,
    )
    assert found, shown
    step = int(found[1].replace(",", ""))
    assert 0 < step < STEPS
    assert [path.stem for path in tmp_path.rglob("*.sha256")] == [str(step)]
    sweep.assert_goes_on(tmp_path)


def test_nothing_is_saved_while_compiling(sweep: Sweep, tmp_path: Path) -> None:
    code, shown = sweep.interrupted(tmp_path, "compiling")
    assert code == 130, shown
    how = "( while compiling|; .* holds 0 of 1 studies)"
    assert re.search(f"dbtool: interrupted{how}; the same command goes on", shown), shown
    assert list(tmp_path.rglob("*.sha256")) == []
    sweep.assert_goes_on(tmp_path)
