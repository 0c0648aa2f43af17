"""Two devices, so that what is sharded over trials really is, on a machine of one core too."""

from __future__ import annotations

import jax
import pytest

# Has to happen before anything makes JAX look for devices, so while tests are collected.
jax.config.update("jax_num_cpu_devices", 2)


@pytest.fixture(scope="session", autouse=True)
def _two_devices() -> None:
    assert jax.local_device_count() == 2
