"""A sweep that nothing has stopped or divided."""

from pathlib import Path

import pytest

from tests.support.sweeps import small_study, sweep


@pytest.fixture(scope="session")
def undisturbed(made_up_mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("undisturbed")
    assert sweep(small_study(), out, made_up_mnist, trials=5) == [(0, 1), (2, 3), (4,)]
    return out
