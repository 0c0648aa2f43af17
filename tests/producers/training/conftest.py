"""Eight devices, so that what is sharded really is, on a machine of one core too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# Has to happen before anything makes JAX look for devices, so while tests are collected; looking
# for them here keeps a sweep that is tested first from choosing another number.
jax.config.update("jax_num_cpu_devices", 8)
jax.devices()


@pytest.fixture(scope="session", autouse=True)
def _eight_devices() -> None:
    assert jax.local_device_count() == 8


@pytest.fixture(scope="module", autouse=True)
def _compiled_quickly() -> Iterator[None]:
    """Leaves out most of what the compiler does to optimise: these tests compile more than train.

    The processes that a test starts compile as they do outside of tests.
    """
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
