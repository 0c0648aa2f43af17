"""What the tests of all data sets share."""

import pytest


@pytest.fixture(autouse=True)
def _no_given_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBTOOL_DATASETS", raising=False)
