"""Blocks that are killed go on from their checkpoints as if nothing had happened."""

import re
import shutil
import signal
from pathlib import Path
from subprocess import Popen

import jax
import numpy as np
import pytest

from dbtool.core.errors import DbtoolError
from producers.training.block_record import BlockRecord, Progress
from producers.training.checkpoints import Checkpoints
from producers.training.saved import CHECKPOINT_PREFIX
from tests.support.blocks import (
    NEVER,
    TRIALS,
    Rows,
    StoppingCheckpoints,
    assert_close,
    assert_same,
    compiled,
    rows,
    train,
)
from tests.support.checkpointed import BLOCK, DIVERGING, EVALUATIONS, STEPS, block_rows
from tests.support.kills import wait_until
from tests.support.programs import start_program
from tests.support.published import flipped

PATIENCE = 300.0


@pytest.fixture(scope="module")
def undisturbed() -> Rows:
    """The rows of the block, trained at once and without checkpoints."""
    return block_rows(None)


def test_what_was_restored_is_told_before_it_goes_on(tmp_path):
    told: list[tuple[int, int]] = []

    def on_record(record: BlockRecord) -> None:
        """Notes the steps of all trials, and how many evaluations they have."""
        steps = sum(map(record.steps, range(record.trials)))
        told.append((steps, len(set(record.values("val_cross_entropy_error")[1].tolist()))))

    with pytest.raises(InterruptedError):
        train("fc", on_record=on_record, checkpoints=StoppingCheckpoints(tmp_path, "a", 4))
    # Before step 0 and after the evaluations at 0 and 1; it was stopped before that at step 4.
    assert told == [(0, 0), (0, 1), (TRIALS, 2)]
    told.clear()
    train("fc", on_record=on_record, checkpoints=Checkpoints(tmp_path, "a", NEVER))
    # What was restored, after the evaluations at 4 and 12, and at the end.
    assert told == [(4 * TRIALS, 2), (4 * TRIALS, 3), (12 * TRIALS, 4), (12 * TRIALS, 4)]


def start(folder: Path, file: Path, *words: str) -> Popen[str]:
    """A process that compiles as this one does, and takes what it has compiled."""
    quick = str(int(jax.config.values["jax_disable_most_optimizations"]))
    variables = {"JAX_DISABLE_MOST_OPTIMIZATIONS": quick}
    return start_program("checkpointed", folder, file, *words, **variables)


def finished(process: Popen[str]) -> str:
    """Waits for the end of a process; returns what it told."""
    told, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    return told


def last_step(folder: Path) -> int:
    digests = folder.glob(f"{CHECKPOINT_PREFIX}*/*.sha256")
    return max((int(path.stem) for path in digests), default=0)


@pytest.mark.slow
def test_a_killed_block_goes_on_bit_for_bit(undisturbed, tmp_path):
    assert np.isnan(undisturbed["batch_cross_entropy_error"][1:]).any()
    file = tmp_path / "rows.npz"
    process = start(tmp_path, file)
    wait_until(lambda: last_step(tmp_path) >= STEPS // 2, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert STEPS // 2 <= last_step(tmp_path) < STEPS
    # What goes on does so from there: with its states gone wrong the rows would be others.
    finished(start(tmp_path, file))
    assert_same(dict(np.load(file)), undisturbed)
    (folder,) = tmp_path.glob(f"{CHECKPOINT_PREFIX}*")
    # The last one was begun, and nothing came after it that would have completed it.
    kept = [str(STEPS - 2), f"{STEPS - 2}.sha256", str(STEPS)]
    assert sorted(path.name for path in folder.iterdir()) == kept
    Checkpoints(tmp_path, BLOCK, NEVER).remove()
    assert not folder.exists()


@pytest.mark.slow
def test_a_block_goes_on_with_other_devices(undisturbed, tmp_path):
    with pytest.raises(InterruptedError):
        block_rows(StoppingCheckpoints(tmp_path, BLOCK, STEPS // 2))
    record = train(
        "normalised",
        devices=8,
        devices_a_trial=4,
        micro_batch=8,
        sparsity=0.5,
        diverging=DIVERGING,
        evaluations=EVALUATIONS,
        checkpoints=Checkpoints(tmp_path, BLOCK, NEVER),
    )
    assert_close(record, undisturbed)


def restored(folder: Path, block: object = "small", problem: str = "fc") -> Progress | None:
    program = compiled(problem, 1, 1, 1, False, None)
    checkpoints = Checkpoints(folder, block, NEVER)
    return checkpoints.restored(program, TRIALS, pruned=problem == "normalised")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The folder of the checkpoint of a quicker block, which was stopped at step 4."""
    with pytest.raises(InterruptedError):
        train("fc", checkpoints=StoppingCheckpoints(tmp_path, "small", 4))
    (folder,) = tmp_path.glob(f"{CHECKPOINT_PREFIX}*")
    return folder


def test_damage_is_told_whatever_file_it_is_in(small):
    refused = pytest.raises(DbtoolError, match=r"is damaged .*; remove that folder, and the")
    files = sorted(path for path in (small / "4").rglob("*") if path.is_file())
    assert len(files) > 10
    for file in [*files, small / "4.sha256"]:
        content = file.read_bytes()
        for damaged in (flipped(content, len(content) // 2), content[: len(content) // 2]):
            file.write_bytes(damaged)
            with refused:
                restored(small.parent)
        file.unlink()
        # Without the file of its digest the checkpoint does not count; see below.
        if file in files:
            with refused:
                restored(small.parent)
        file.write_bytes(content)
    assert restored(small.parent) is not None


def test_a_checkpoint_of_another_block_or_that_was_not_completed_is_passed_over(small):
    assert restored(small.parent, "another") is None
    shutil.copytree(small / "4", small / "12")
    (small / "14.orbax-checkpoint-tmp").mkdir()
    progress = restored(small.parent)
    assert progress is not None
    assert progress.step == 4
    # The next one at the same step takes its place.
    progress.step = 12
    Checkpoints(small.parent, "small", NEVER).save(progress)
    assert sorted(path.name for path in small.iterdir()) == ["12", "12.sha256"]


def test_a_checkpoint_is_of_when_it_was_begun_and_counts_once_it_is_written(small):
    folder = small.parent
    progress = restored(folder)
    assert progress is not None
    before = rows(progress.record)
    checkpoints = Checkpoints(folder, "small", 0.0)
    progress.step = 12
    checkpoints.save_when_due(progress)
    assert last_step(folder) == 4
    losses = np.full((TRIALS, 2), 7.0, np.float32)
    progress.record.add_losses(np.arange(TRIALS), np.ones(TRIALS, bool), 4, losses)
    progress.step = 13
    checkpoints.save_when_due(progress)
    assert last_step(folder) == 12
    found = restored(folder)
    assert found is not None
    assert_same(found.record, before)
    checkpoints.remove()
    assert not small.exists()


@pytest.mark.slow
def test_a_full_disk_leaves_the_checkpoint_before_and_training_goes_on(undisturbed, tmp_path):
    file = tmp_path / "rows.npz"
    told = finished(start(tmp_path, file, "full"))
    assert_same(dict(np.load(file)), undisturbed)
    assert last_step(tmp_path) == 2
    sentences = re.findall(r"NotSavedWarning: (cannot save .*); training goes on without it", told)
    assert len(sentences) > 1
    assert "File too large" in sentences[0]
    # Nor what the threads of a save that failed leave behind.
    assert not {"ERROR", "Traceback"} & set(re.findall(r"^\w+", told, re.MULTILINE))
    progress = restored(tmp_path, BLOCK, "normalised")
    assert progress is not None
    assert progress.step == 2
