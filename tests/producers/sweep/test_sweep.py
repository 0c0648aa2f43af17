"""Sweeps: they go on where they stopped, keep diverged trials and share no folder."""

import itertools
import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from dbtool.core.contract import shard_schema, study_path
from dbtool.core.errors import DbtoolError
from dbtool.core.index import Index
from dbtool.core.manifest import About, read_manifest
from dbtool.core.shards import read_footer, read_tables
from dbtool.core.writer import ReleaseWriter
from producers.configuration import SweepOptions
from producers.sweep.run import finished_trials, held_index, missing_trials, next_blocks
from producers.training.checkpoints import Interrupted
from tests.support.sweeps import (
    BATCH_SIZE,
    STEPS,
    TRAINED,
    StoppedError,
    assert_same_rows,
    footer,
    rows,
    shards,
    small_study,
    statuses,
    sweep,
    unlisted,
)

TRIALS = 5


def test_shards_lie_by_study_and_every_step_has_its_row(undisturbed):
    assert unlisted(undisturbed) == []
    folder = undisturbed / study_path(TRAINED, BATCH_SIZE)
    assert {path.parent for path in shards(undisturbed)} == {folder}
    trials = [read_footer(path).trials for path in shards(undisturbed)]
    assert [[trial.trial_id for trial in each] for each in trials] == [[0, 1], [2, 3], [4]]
    table = rows(undisturbed)
    schemas = [pq.read_schema(path).remove_metadata() for path in shards(undisturbed)]
    assert all(schema.equals(shard_schema()) for schema in schemas)
    assert table["trial_id"].tolist() == [id_ for id_ in range(TRIALS) for _ in range(STEPS + 1)]
    assert table["step"].tolist() == list(range(STEPS + 1)) * TRIALS
    started = table["step"] == 0
    # With ten classes and small weights the loss starts near that of a uniform guess, log 10.
    assert np.abs(table["val_cross_entropy_error"][started] - np.log(10)).max() < 1.0
    assert (table["batch_cross_entropy_error"][started] == -1).all()
    assert (table["batch_cross_entropy_error"][~started] > 0).all()


def test_shard_tells_its_study_trials_and_producer(undisturbed):
    study, path = small_study(), shards(undisturbed)[1]
    assert read_footer(path).study == study.study()
    drawn, found = study.trials([2, 3]), read_footer(path).trials
    assert tuple(trial.metaparameters for trial in found) == drawn.metaparameters
    assert tuple(trial.seed for trial in found) == drawn.seeds
    kept = {(trial.status, trial.steps, trial.measurements) for trial in found}
    assert kept == {("COMPLETE", STEPS, STEPS + 1)}
    producer = footer(path, "producer")
    assert producer["batches"] == "own"
    assert (producer["devices_per_trial"], producer["micro_batch"]) == (1, BATCH_SIZE)
    assert (producer["side_by_side"], producer["matmul_precision"]) == (1, "float32")
    assert producer["remat"] is False
    assert {"dbtool", "jax", "jaxlib", "flax", "optax", "numpy", "device"} <= set(producer)


def test_stopped_sweep_goes_on_with_the_same_rows(undisturbed, made_up_mnist, tmp_path):
    with pytest.raises(StoppedError):
        sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS, stop_after=1)
    (kept,) = shards(tmp_path)
    before = kept.stat()
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == [(2, 3), (4,)]
    assert (kept.stat().st_mtime_ns, kept.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert_same_rows(tmp_path, undisturbed)
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == []


def test_trials_are_added_until_enough_are_feasible(made_up_mnist, tmp_path):
    study = small_study(steps=4, learning_rates=(1e-3, 1e12))
    sweep(study, tmp_path, made_up_mnist, trials=4, block=4, feasible=6)
    found = statuses(tmp_path)
    assert sum(status == "COMPLETE" for status in found.values()) >= 6
    assert sorted(found) == list(range(len(found)))
    assert len(found) > 6
    assert sweep(study, tmp_path, made_up_mnist, trials=4, block=4, feasible=6) == []


@pytest.mark.parametrize(
    ("trials", "feasible", "finished", "expected"),
    [
        (3, 0, "", [0, 1, 2]),
        (3, 0, "C.I", [1]),
        (3, 1, "IIC", []),
        # Fewer than asked for: at least eight more, up to five times as many in all.
        (4, 3, "CCII", list(range(4, 12))),
        (2, 3, "II" + "I" * 8, list(range(10, 15))),
        (2, 3, "I" * 15, []),
        # Half are feasible: the ten that are missing need twenty more.
        (20, 20, "CI" * 10, list(range(20, 40))),
        # What was added in a sweep that stopped is filled up, and not decided anew.
        (2, 3, "II.C", [2, *range(4, 10)]),
    ],
)
def test_next_trials_follow_from_the_finished_ones(trials, feasible, finished, expected):
    study = replace(small_study(), least_trials=trials, feasible_trials=feasible)
    status = {"C": "COMPLETE", "I": "INFEASIBLE"}
    done = {index: status[letter] for index, letter in enumerate(finished) if letter != "."}
    assert missing_trials(study, done) == expected


def test_another_definition_in_the_folder_is_named(made_up_mnist, tmp_path):
    sweep(small_study(steps=2), tmp_path, made_up_mnist, trials=1)
    with pytest.raises(DbtoolError, match=r"another seed than the given 1; .* --out") as caught:
        sweep(small_study(steps=2, seed=1), tmp_path, made_up_mnist, trials=1)
    assert TRAINED in str(caught.value)
    held = held_index(tmp_path)
    with pytest.raises(DbtoolError, match=r"with another train_steps "):
        finished_trials(small_study(steps=3), held)
    with pytest.raises(DbtoolError, match=r"another .*search_space \(learning_rate\);"):
        finished_trials(small_study(steps=2, learning_rates=(1e-4, 10.0)), held)


def test_a_stopped_sweep_is_gone_on_with_and_by_no_other_definition(made_up_mnist, tmp_path):
    """What was saved goes on whatever the number of trials, and is never passed over in silence."""
    study = replace(small_study(), replacement=made_up_mnist, least_trials=4)
    with pytest.raises(Interrupted) as stopped:
        sweep(study, tmp_path, made_up_mnist, trials=4, block=4, calls=2)
    saved = f"at batch size 8 is there, stopped and saved at step {stopped.value.step}, with "
    for other, measure, named in (
        (small_study(steps=STEPS - 1), (), r"train_steps \(29, there 30\)"),
        (small_study(seed=1), (), "seed than the given 1"),
        (small_study(batches="shared"), (), "shared_batches"),
        (small_study(), ("seconds",), "measure"),
    ):
        sentence = rf"{saved}another {named}; go on with the options that it was begun with, or "
        with pytest.raises(DbtoolError, match=sentence):
            sweep(other, tmp_path, made_up_mnist, trials=1, measure=measure)
    larger = replace(study, batch_size=16)
    for trials, expected in ((2, [(0, 1, 2, 3)]), (6, [(0, 1, 2, 3), (4, 5)])):
        studies = [larger, replace(study, least_trials=trials)]
        options = SweepOptions(block=2)
        assert next_blocks(studies, tmp_path, Index(), options) == [[(0, 1), (2, 3)], expected]
    (saved_as,) = (tmp_path / ".work").rglob("block.json")
    content = saved_as.read_bytes()
    saved_as.write_bytes(content[:-9])
    with pytest.raises(DbtoolError, match="is damaged"):
        sweep(study, tmp_path, made_up_mnist, trials=4, block=4)
    saved_as.write_bytes(content)
    assert sweep(study, tmp_path, made_up_mnist, trials=6) == [(0, 1, 2, 3), (4, 5)]
    assert not (tmp_path / ".work").exists()


def test_a_release_of_other_shards_is_gone_on_with(undisturbed, made_up_mnist, tmp_path):
    first, second, _ = shards(undisturbed)
    with ReleaseWriter(tmp_path, About(release="tests", title="A title")) as writer:
        trials = read_footer(first).trials + read_footer(second).trials
        together = msgspec.structs.replace(read_footer(first), trials=trials)
        writer.write(together, itertools.chain(read_tables(first), read_tables(second)))
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == [(4,)]
    assert read_manifest(tmp_path).title == "A title"
    assert_same_rows(tmp_path, undisturbed)


def test_shards_that_a_kill_left_unlisted_are_taken_in_unless_damaged(
    undisturbed, made_up_mnist, tmp_path
):
    shutil.copytree(undisturbed, tmp_path, dirs_exist_ok=True)
    (tmp_path / "manifest.json").unlink()
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == []
    assert unlisted(tmp_path) == []
    (tmp_path / "manifest.json").unlink()
    path = shards(tmp_path)[0]
    whole = path.read_bytes()
    for content in (whole[:-100], whole[:3], b"", whole[:50] + b"\0" + whole[51:]):
        path.write_bytes(content)
        with pytest.raises(DbtoolError, match=r"was cut short or altered") as caught:
            sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    path.unlink()
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == [(0, 1)]
    assert_same_rows(tmp_path, undisturbed)


def test_folder_that_cannot_be_written_is_named(made_up_mnist, tmp_path):
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DbtoolError, match=r"cannot make the folder .*file.* --out"):
            sweep(small_study(steps=2), out, made_up_mnist, trials=1)


@pytest.mark.slow
def test_block_that_outgrows_the_memory_is_one_sentence(made_up_mnist, tmp_path):
    study = small_study(steps=2)
    # 4 PB of weights a trial: more than there are addresses.
    endless = replace(study, workload=replace(study.workload, model="fc_100000000_10000000"))
    with pytest.raises(DbtoolError, match=r"with 2 trials together needs more memory .* --block"):
        sweep(endless, tmp_path, made_up_mnist, trials=2)
    assert shards(tmp_path) == []
