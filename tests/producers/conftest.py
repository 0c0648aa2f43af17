"""Fixtures that the producers' tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _programs_compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps compiled programs for the session: compiling is most of a small sweep's time."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
