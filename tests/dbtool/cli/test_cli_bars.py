"""Progress bars: on a terminal, for work that takes its time."""

from __future__ import annotations

import sys

import pytest

from tests.support.terminal import run_on_terminal

WORK = """
import time
from dbtool.cli.bars import bar
with bar("importing", "bytes") as on_progress:
    for done in range(9):
        on_progress(done * 1_000_000, 8_000_000)
        time.sleep({seconds})
print("imported")
"""


@pytest.mark.parametrize(("seconds", "shown"), [(0.3, True), (0.0, False)])
def test_work_that_takes_its_time_shows_a_bar(seconds: float, shown: bool) -> None:
    words = [sys.executable, "-c", WORK.format(seconds=seconds)]
    code, text = run_on_terminal(words, columns=100)
    assert code == 0
    assert ("importing" in text, "MB/s" in text) == (shown, shown)
    assert text.rstrip().endswith("imported")
