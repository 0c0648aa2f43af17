"""Small sweeps of real training on made-up images, and the rows that they wrote."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from dbtool.core.checks import read_toml
from dbtool.core.manifest import MANIFEST, is_release, read_manifest
from dbtool.core.release import shard_paths
from dbtool.core.shards import read_footer, read_tables
from producers.configuration import Plan, Sweep, SweepOptions
from producers.datasets.forms import GREY_28
from producers.devices import configure_devices
from producers.plan import StudyPlan, plan_studies, planned_studies
from producers.search import Range
from producers.sweep.events import SweepEvents
from producers.sweep.run import run_sweep
from producers.workloads.definition import EvaluationRule, Workload
from producers.workloads.presets import NO_PRESET, Preset
from producers.workloads.registry import WORKLOADS
from producers.workloads.replace import replaced
from tests.support.programs import run_python, start_python

WORKLOAD = "mnist/fc_64_64_64/sgd"
DATA = "made_up"
TRAINED = f"replaced/{DATA}/fc_64_64_64/sgd"
"""The workload's name on the made-up images."""
TRAIN_EXAMPLES = 88
"""Of the 96 that `write_made_up` writes in the format of MNIST, one in twelve is held out."""
BATCH_SIZE = 8
STEPS = 30
CONSOLE_SCRIPT = str(Path(sys.executable).with_name("dbtool"))


def small_study(
    *,
    seed: int = 0,
    steps: int = STEPS,
    learning_rates: tuple[float, float] = (1e-4, 1.0),
    batches: Literal["own", "shared"] | None = None,
) -> StudyPlan:
    """A study of a narrow network on made-up images; with the default rates no trial diverges."""
    rule = EvaluationRule(4, other_splits_every=3, examples_between=3 * BATCH_SIZE)
    workload = replaced(WORKLOADS[WORKLOAD], DATA, GREY_28, TRAIN_EXAMPLES, goal=None)
    space = (("learning_rate", Range(*learning_rates, "LOG_SCALE")),)
    workload = replace(workload, evaluation=rule, search_space=space)
    (study,) = planned(workload, seed=seed, batches=batches, batch_sizes=[BATCH_SIZE], steps=steps)
    return study


def planned(
    workload: Workload,
    *,
    seed: int = 0,
    batches: Literal["own", "shared"] | None = None,
    preset: Preset = NO_PRESET,
    folder: Path | None = None,
    **sweep: Any,
) -> list[StudyPlan]:
    """The studies of a workload of a sweep's settings, in the release `tests`."""
    found = Sweep(workloads=(workload.name,), **sweep)
    plan = Plan(sweep=(found,), release="tests", seed=seed, batches=batches)
    return plan_studies(plan, found, workload, preset, folder)


def studies_of(path: Path, **options: Any) -> list[StudyPlan]:
    """The studies of a plan file; options as `planned_studies` takes them."""
    with planned_studies(read_toml(path, Plan, "plan"), path=path, **options) as studies:
        return studies


class StoppedError(Exception):
    """Raised by a test's event to stop a sweep between two shards."""


def sweep(
    study: StudyPlan,
    out: Path,
    data: Path,
    *,
    trials: int,
    feasible: int = 0,
    stop_after: int | None = None,
    calls: int | None = None,
    **options: Any,
) -> list[tuple[int, ...]]:
    """Runs a sweep in this process, in blocks of 2 unless the options say otherwise.

    Returns the blocks of trials that it trained; raises StoppedError after `stop_after` of them,
    and Interrupted, as Ctrl-C does, after so many calls of its program.
    """
    study = replace(study, least_trials=trials, feasible_trials=feasible)
    found = SweepOptions(**({"block": 2} | options))
    return sweep_all([study], out, data, found, stop_after=stop_after, calls=calls)


def sweep_all(
    studies: Sequence[StudyPlan],
    out: Path,
    data: Path | None,
    options: SweepOptions | None = None,
    *,
    stop_after: int | None = None,
    calls: int | None = None,
) -> list[tuple[int, ...]]:
    """Runs a sweep of studies as they are, otherwise as `sweep`."""
    configure_devices()
    trained: list[tuple[int, ...]] = []
    done: list[int] = []

    def on_block(_: StudyPlan, trial_ids: Sequence[int]) -> None:
        if stop_after is not None and len(trained) == stop_after:
            raise StoppedError
        trained.append(tuple(trial_ids))

    events = SweepEvents(on_block, done.append, lambda _: None, stopping=lambda: len(done) == calls)
    studies = [replace(study, replacement=data) for study in studies]
    run_sweep(studies, out, options or SweepOptions(), events)
    return trained


def shards(out: Path) -> list[Path]:
    """Every shard of a release folder, in the order of its studies and trials."""
    found = [out / path for path in shard_paths(out)]
    return sorted(found, key=lambda path: (path.parent, read_footer(path).trials[0].trial_id))


def rows(out: Path) -> dict[str, np.ndarray]:
    """The columns of all rows of a release, shard after shard; missing values as -1."""
    tables = [pa.concat_tables(read_tables(path)) for path in shards(out)]
    names = [name for name in tables[0].column_names if tables[0][name].type != pa.string()]
    return {
        name: np.concatenate([table[name].fill_null(-1).to_numpy() for table in tables])
        for name in names
    }


def assert_same_rows(left: Path, right: Path) -> None:
    """Asserts that two sweeps hold the same rows, bit for bit; NaN is equal to itself."""
    np.testing.assert_equal(rows(left), rows(right))


def assert_same_sweep(ours: Path, theirs: Path) -> None:
    """Asserts that all is equal but what tells how and when it was trained, and nothing left."""
    assert_same_rows(ours, theirs)
    for one, other in zip(shards(ours), shards(theirs), strict=True):
        for part in ("study", "trials"):
            assert footer(one, part) == footer(other, part)
    assert unlisted(ours) == []


def footer(path: Path, part: str) -> Any:
    """A part of a shard's footer as JSON has it: study, trials or producer."""
    return msgspec.to_builtins(getattr(read_footer(path), part))


def unlisted(out: Path) -> list[Path]:
    """The files in a release folder that its manifest does not list, but for itself and its lock.

    Asserts that all it lists is there.
    """
    there = {path for path in out.rglob("*") if path.is_file()}
    listed: set[Path] = set()
    if is_release(out):
        listed = {out / MANIFEST, *(out / file.path for file in read_manifest(out).files)}
    assert listed <= there
    return sorted(there - listed - {out / ".index.lock"})


def statuses(out: Path) -> dict[int, str]:
    """The status of every trial of the only study, each in one shard alone."""
    found = [trial for path in shards(out) for trial in read_footer(path).trials]
    assert len({trial.trial_id for trial in found}) == len(found), "a trial was trained twice"
    return {trial.trial_id: trial.status for trial in found}


def definition_of(workload: Workload) -> dict[str, Any]:
    """A workload's definition after a trip through JSON."""
    decoded: dict[str, Any] = json.loads(json.dumps(workload.definition()))
    return decoded


def in_place_of_mnist(data: Path) -> tuple[str, str]:
    """The words that have `dbtool produce` train on a folder of images."""
    return ("--replace", f"mnist={DATA}:{data}")


def fast_start(compiled: str | Path) -> dict[str, str]:
    """Compiled programs that processes share to start fast."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }


def produce(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `dbtool produce` as a user does; variables are added to the environment."""
    environment = os.environ | environment
    return run_python(CONSOLE_SCRIPT, "produce", *words, env=environment, timeout=600)


def produced(*words: str | Path, **environment: str) -> str:
    """What `dbtool produce` says on standard error; it has to succeed."""
    result = produce(*words, **environment)
    assert result.returncode == 0, result.stderr
    return result.stderr


def refused(code: int, *words: str | Path, **environment: str) -> str:
    """The only line that `dbtool produce` prints where it fails."""
    result = produce(*words, **environment)
    assert (result.returncode, result.stdout) == (code, ""), result.stderr
    assert result.stderr.startswith("dbtool: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def start_produce(*words: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Starts `dbtool produce` and leaves it running."""
    return start_python(CONSOLE_SCRIPT, "produce", *words, env=os.environ | environment)


def hosts(count: int = 2) -> list[dict[str, str]]:
    """What tells each of some processes that they train together."""
    address = f"127.0.0.1:{free_port()}"
    # Not every machine has the addresses of IPv6, which JAX would listen at.
    shared = {"JAX_COORDINATOR_ADDRESS": address, "JAX_COORDINATOR_BIND_ADDRESS": address}
    shared["JAX_NUM_PROCESSES"] = str(count)
    return [shared | {"JAX_PROCESS_ID": str(number)} for number in range(count)]


def told(errors: str) -> list[str]:
    """The lines of a sweep's standard error, without those that come once a minute."""
    return [line for line in errors.splitlines() if " % of the sweep, " not in line]


def free_port() -> int:
    """A port of this machine at which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
