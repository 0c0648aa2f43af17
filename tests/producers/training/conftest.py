"""Eight devices, so that what is sharded really is, on a machine of one core too."""

import jax
import pytest

# Has to happen before anything makes JAX look for devices, so while tests are collected; looking
# for them here keeps a sweep that is tested first from choosing another number.
jax.config.update("jax_num_cpu_devices", 8)
jax.devices()


@pytest.fixture(scope="session", autouse=True)
def _eight_devices() -> None:
    assert jax.local_device_count() == 8
