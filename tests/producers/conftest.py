"""Fixtures that the producers' tests share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.own_workload import FILE


@pytest.fixture(scope="session", autouse=True)
def _compiled_quickly_and_once(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[None]:
    """Spares most of a small sweep's time: programs are hardly optimised, and kept.

    They are optimised where slow tests run as well, and in the processes that a test starts, which
    keep theirs in the same folder.
    """
    import jax

    from tests.support.sweeps import fast_start

    compiled = tmp_path_factory.mktemp("compiled")
    jax.config.update(
        "jax_disable_most_optimizations", pytestconfig.getoption("markexpr") == "not slow"
    )
    jax.config.update("jax_compilation_cache_dir", str(compiled))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in fast_start(compiled).items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a user's own model, optimizer, data set and workload."""
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def registries_as_before() -> Iterator[None]:
    """Takes what a test registers out again, and what was compiled of it by its name."""
    from producers.sweep import session
    from producers.workloads import own

    held: list[dict[Any, Any]] = [*own._registries().values(), own.LOADED]
    before = [dict(each) for each in held]
    yield
    for each, items in zip(held, before, strict=True):
        each.clear()
        each.update(items)
    session._block_program.cache_clear()
