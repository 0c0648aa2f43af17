"""What a training step of each published workload takes on TPUs, by the estimate of their compiler.

Run `python -m benchmarks.lowering` from the checkout, on any machine: nothing is trained, no data
are read, and no TPU is there. XLA compiles what a sweep runs for the chips of `--topology`, from
shapes alone. That takes TPUs' compiler, `pip install libtpu` in the version that JAX's extra `tpu`
names (or TPU_LIBRARY_PATH=.../libtpu.so), a second for a small network and minutes for a large one.

Each workload is taken at the largest batch size of its published studies: where memory holds the
data set, with a trial on each chip; else with one trial, whose batches all chips share and pass
through the model in micro-batches (`--micro-batch`), as `dbtool produce --devices-per-trial` does.
Of each chip's memory, in GB (1e9 bytes):

- arguments: weights, the optimizer's state, data or batches;
- temporaries: activations, gradients, and a copy of batches in the layout that chips compute in;
- whole: both and the program, less what results take over from arguments.

A step that does not fit is refused by the compiler, whose numbers (G is 2**30) are then printed.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import jax
from jax.experimental import topologies

from producers.datasets.registry import DATASETS
from producers.models.registry import model_definition
from producers.sweep.memory import program_bytes
from producers.training.block import BlockProgram
from producers.training.mesh import device_mesh
from producers.training.step import trainer
from producers.workloads.definition import BATCH_SIZE_STUDY
from producers.workloads.registry import find_workloads
from tests.support.abstract import abstract_advance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from producers.workloads.definition import Workload

# libtpu would ask a server of Google's what the machine is, and lets one process use its chips.
_NO_TPU_HERE = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
}


@dataclass(frozen=True)
class Step:
    """A compiled step, or one that does not fit.

    Attributes:
        micro_batch: examples that pass through the model together, on all chips that share them.
        trials: that train together.
        parameters: of the model.
        seconds: to lower and to compile it.
        arguments: bytes of each chip that what it is given takes.
        temporaries: bytes that it needs besides.
        whole: bytes of all of it, and of the program.
        refusal: what the compiler says where it does not fit.
    """

    micro_batch: int
    trials: int
    parameters: int
    seconds: float
    arguments: int = 0
    temporaries: int = 0
    whole: int = 0
    refusal: str = ""


def main() -> None:
    """Prints a line a workload."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", default="v5e:2x2", help="as libtpu names it: v5p:2x2x1")
    parser.add_argument("--workloads", nargs="+", default=["*"], help="names or patterns")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--micro-batch", type=int, default=512, help="of shared batches")
    words = parser.parse_args()
    for name, value in _NO_TPU_HERE.items():
        os.environ.setdefault(name, value)
    try:
        topology = topologies.get_topology_desc(words.topology, platform="tpu")
    except RuntimeError as error:
        sys.exit(f"{words.topology} cannot be compiled for ({error}); --help tells what that takes")
    devices: list[jax.Device] = topology.devices
    header = f"{'batch':>8s}{'micro':>8s}{'trials':>8s}{'parameters':>13s}{'arguments':>11s}"
    header += f"{'temporaries':>13s}{'whole':>7s}{'compiled in':>13s}"
    kind = f"{len(devices)} chips, {devices[0].device_kind}"
    print(f"{words.topology}: {kind}, {words.dtype}, jax {jax.__version__}\n{'':60s}{header}")
    for workload in find_workloads(words.workloads):
        if workload.paper == BATCH_SIZE_STUDY:
            step = compiled(_nameless(workload, words.dtype), tuple(devices), words.micro_batch)
            _print(workload, step)


def _print(workload: Workload, step: Step) -> None:
    memory = f"{step.arguments / 1e9:11.2f}{step.temporaries / 1e9:13.2f}{step.whole / 1e9:7.2f}"
    print(
        f"{workload.name:60s}{max(workload.batch_sizes):8,d}{step.micro_batch:8,d}{step.trials:8d}"
        f"{step.parameters:13,d}{step.refusal or memory:>31s}{step.seconds:11.0f} s",
        flush=True,
    )


def _nameless(workload: Workload, dtype: Literal["float32", "bfloat16"]) -> Workload:
    """The workload as far as its step depends on it: others that have the same compile once."""
    return replace(
        workload,
        collection=None,
        dataset="",
        goal=None,
        subset=None,
        certainty=(),
        batch_sizes=(max(workload.batch_sizes),),
        dtype=dtype,
    )


@functools.cache
def compiled(workload: Workload, devices: Sequence[jax.Device], micro_batch: int) -> Step:
    """Compiles the training of a block of a workload for devices, which need not be there."""
    share = DATASETS[workload.source].is_streamed
    program = BlockProgram(
        trainer(
            *(workload.model, workload.optimizer, workload.schedule),
            *(workload.form, workload.dtype),
        ),
        device_mesh(devices, devices_a_trial=len(devices) if share else 1),
        lanes=sys.maxsize,
        shared_batches=False,
        evaluation_batch=model_definition(workload.model).evaluation_batch,
        micro_batch=micro_batch if share else None,
    )
    (batch_size,), trials = workload.batch_sizes, program.devices_of_trials
    arguments = abstract_advance(program, workload, batch_size, trials)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(arguments[0].parameters)) // trials
    started = time.perf_counter()
    lowered = program.compiled_advance.lower(*arguments)
    refusal = ""
    try:
        memory: Any = lowered.compile().memory_analysis()
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        needed, available, *_ = re.findall(r"\d[\d.]*[KMGT]\b", str(error))
        memory, refusal = None, f"needs {needed} of {available}"
    seconds = time.perf_counter() - started
    step = Step(program.batch_shape(batch_size)[1], trials, parameters, seconds, refusal=refusal)
    if memory is None:
        return step
    return replace(
        step,
        arguments=memory.argument_size_in_bytes,
        temporaries=memory.temp_size_in_bytes,
        whole=program_bytes(memory),
    )


if __name__ == "__main__":
    main()
