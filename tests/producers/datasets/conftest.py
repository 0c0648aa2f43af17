"""What the tests of all data sets share."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_given_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBTOOL_DATASETS", raising=False)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a property of files writes one for each of its examples."""
    return tmp_path_factory.mktemp("files") / "file"
