"""The same curves however devices and processes share a block and divide its batches."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from dbtool.core.errors import UsageError
from producers.devices import join_hosts
from producers.training.block_record import BlockRecord
from producers.training.mesh import device_mesh, put_everywhere
from tests.support.blocks import (
    OTHER_EXAMPLES,
    PROBLEMS,
    TRIALS,
    Rows,
    assert_close,
    assert_equivalent,
    assert_same,
    program_of,
    train,
    train_to_states,
)
from tests.support.host_process import CASES, DIVERGING, MANY_CALLS, PROCESSES, RESUMED
from tests.support.programs import run_python, start_program
from tests.support.sweeps import hosts

# Devices, and how many of them share a trial.
ONE, EIGHT_FOR_A_TRIAL, TWO_TRIALS_BY_FOUR, TRIAL_EACH = (1, 1), (8, 8), (8, 4), (8, 1)


@functools.cache
def trained(
    problem: str, devices: tuple[int, int], micro_batch: int | None = None
) -> tuple[BlockRecord, Any]:
    """The record, and the states after the last step."""
    count, of_each = devices
    return train_to_states(problem, devices=count, devices_a_trial=of_each, micro_batch=micro_batch)


def test_curves_depend_neither_on_devices_nor_on_micro_batches():
    found = trained("normalised", TWO_TRIALS_BY_FOUR, 8)
    alone = trained("normalised", ONE)
    assert_equivalent(found, alone)
    # Running statistics have left their start.
    statistics = alone[1].statistics["first_norm"]
    assert statistics["variance"][...].shape == (TRIALS, 4)
    assert (np.abs(statistics["variance"][...] - 1) > 0.01).all()


def test_cores_hold_one_copy_of_a_data_set():
    levels = np.random.default_rng(0).integers(0, 256, (2_001, 28, 28), np.uint8)
    # Wherever it begins.
    for images in (levels, levels[1:], levels[:, 1:]):
        placed = put_everywhere(images, device_mesh())
        np.testing.assert_array_equal(placed, images)
        held = {each.data.unsafe_buffer_pointer() for each in placed.addressable_shards}
        assert (len(placed.addressable_shards), len(held)) == (8, 1)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [ONE, EIGHT_FOR_A_TRIAL, TWO_TRIALS_BY_FOUR, TRIAL_EACH])
@pytest.mark.parametrize(
    ("problem", "micro_batch"),
    [("fc", 8), ("normalised", 8), ("resnet", 32), ("pairs", 4), ("transformer", 4)],
)
def test_whole_models_with_and_without_micro_batches(problem, micro_batch, devices):
    # Micro-batches of texts have different numbers of tokens.
    for most in (None, micro_batch):
        assert_equivalent(trained(problem, devices, most), trained(problem, ONE))


@pytest.mark.slow
def test_trials_of_devices_of_their_own_are_bit_for_bit_those_of_one():
    assert_same(trained("fc", TRIAL_EACH)[0], trained("fc", ONE)[0])


def test_micro_batches_are_the_largest_that_divide_the_batch():
    def shape(micro_batch: int | None, batch_size: int, divisor: int = 1) -> tuple[int, int]:
        program = program_of(PROBLEMS["fc"].trainer, divisor=divisor, micro_batch=micro_batch)
        return program.batch_shape(batch_size)

    assert shape(None, 16) == (1, 16)
    assert shape(5, 16) == (4, 4)
    assert shape(4, 7) == (7, 1)
    # Of whole ghost batches: of 48 a half would be normalised apart.
    assert shape(50, 96, divisor=32) == (3, 32)


@dataclass(frozen=True)
class MadeUpDevice:
    """As JAX describes a device: a TPU by its slice and place in it, which has no wrapped links."""

    id: int
    platform: str
    process_index: int
    slice_index: int = 0
    coords: tuple[int, int, int] = (0, 0, 0)
    core_on_chip: int = 0
    device_kind: str = "made up"


# Three slices of 4 x 2 TPUs, in the order of their places, each with two hosts.
SLICES: list[Any] = [
    MadeUpDevice(3 * place + part, "tpu", 2 * part + place // 4, part, (place % 4, place // 4, 0))
    for place in range(8)
    for part in range(3)
]
HOSTS: list[Any] = [MadeUpDevice(number, "gpu", number % 4) for number in range(16)]


@pytest.mark.parametrize("devices_a_trial", [1, 2, 4, 8])
def test_devices_that_share_batches_are_in_one_slice(devices_a_trial):
    rows = device_mesh(SLICES, devices_a_trial=devices_a_trial).devices
    assert rows.shape == (24 // devices_a_trial, devices_a_trial)
    assert {each.id for each in rows.flat} == set(range(24))
    assert {len({each.slice_index for each in row}) for row in rows} == {1}


def test_devices_and_those_of_a_slice_have_to_be_divisible():
    with pytest.raises(UsageError, match="8 devices cannot be divided into groups of 3"):
        device_mesh(jax.devices(), devices_a_trial=3)
    with pytest.raises(UsageError, match=r"8 devices of a slice cannot be .* groups of 12; choose"):
        device_mesh(SLICES, devices_a_trial=12)


@pytest.mark.parametrize(("devices_a_trial", "hosts"), [(2, 1), (4, 1), (8, 2), (16, 4)])
def test_devices_that_share_batches_are_of_few_hosts(devices_a_trial, hosts):
    rows = device_mesh(HOSTS, devices_a_trial=devices_a_trial).devices
    assert {each.id for each in rows.flat} == set(range(16))
    assert {len({each.process_index for each in row}) for row in rows} == {hosts}
    # A host that joins with fewer devices than others is taken as well.
    assert device_mesh(HOSTS[:-1], devices_a_trial=3).shape == {"trial": 5, "data": 3}


PATIENCE = 600.0
EXAMPLES_OF_A_TRIAL = 12 * 16
ALL_CASES = [*CASES, RESUMED]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Rows]]:
    """By case, what each of the processes found that trained all cases together."""
    folder: Path = tmp_path_factory.mktemp("hosts")
    quick = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    processes = [
        start_program("host_process", folder, *ALL_CASES, **quick, **host)
        for host in hosts(PROCESSES)
    ]
    try:
        for process in processes:
            output, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, output
    finally:
        for process in processes:
            process.kill()
    return {
        case: [dict(np.load(folder / str(number) / f"{case}.npz")) for number in range(PROCESSES)]
        for case in ALL_CASES
    }


def measurements(found: Rows) -> Rows:
    return {name: found[name] for name in found if name not in {"training", "validation"}}


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL_CASES)
def test_processes_agree_with_a_process_alone(found, case):
    settings = CASES["diverging" if case == RESUMED else case]
    same: dict[str, Any] = {each: settings.get(each) for each in ("diverging", "evaluations")}
    alone = train("fc", shared=settings.get("shared", False), **same)
    for of_process in found[case]:
        assert_close(measurements(of_process), alone)
    assert_same(*(measurements(of_process) for of_process in found[case]))


@pytest.mark.slow
def test_what_was_resumed_is_bit_for_bit_what_was_not_stopped(found):
    assert_same(found[RESUMED][0], measurements(found["diverging"][0]))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["one trial on all", "micro-batches", "trials apart"])
def test_each_process_reads_its_half(found, case):
    """Of every trial's batches, or the batches of half the trials."""
    requested = [of_process["training"] for of_process in found[case]]
    assert [len(numbers) for numbers in requested] == [4 * EXAMPLES_OF_A_TRIAL // 2] * 2
    evaluated = [of_process["validation"].tolist() for of_process in found[case]]
    # Four devices hold 6 examples each, the last one fewer; 4 evaluations.
    assert [len(numbers) for numbers in evaluated] == [4 * 12, 4 * (OTHER_EXAMPLES - 12)]
    assert not set(evaluated[0]) & set(evaluated[1])


@pytest.mark.slow
def test_processes_with_trials_of_their_own_read_all_shared_batches(found):
    # Each process has devices for whole batches of its trials, which are the same batches.
    requested = [len(of_process["training"]) for of_process in found["shared batches"]]
    assert requested == [EXAMPLES_OF_A_TRIAL] * 2


@pytest.mark.slow
def test_trials_that_end_are_no_longer_read(found):
    requested = sum(len(of_process["training"]) for of_process in found["diverging"])
    assert len(DIVERGING) == 3
    assert requested < 0.9 * 4 * 16 * max(MANY_CALLS)


def test_hosts_that_nothing_names_are_refused():
    # JAX joins hosts only before it has looked for devices, so in a process of its own.
    environment = {name: value for name, value in os.environ.items() if name[:4] != "JAX_"}
    program = "from producers.devices import join_hosts; join_hosts()"
    process = run_python("-c", program, env=environment)
    assert process.returncode != 0
    assert "UsageError: cannot tell which hosts train together" in process.stderr
    assert "set JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES" in process.stderr


def test_a_number_of_processes_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("JAX_NUM_PROCESSES", "two")
    with pytest.raises(UsageError, match="JAX_NUM_PROCESSES is 'two'"):
        join_hosts()
