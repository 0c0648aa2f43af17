"""Sweeps: they go on where they stopped, keep diverged trials and share no folder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.sweeps import (
    BATCH_SIZE,
    STEPS,
    TRAINED,
    StoppedError,
    assert_same_rows,
    metadata,
    rows,
    shards,
    small_study,
    statuses,
    sweep,
)

from dbtool.errors import DbtoolError, UsageError
from dbtool.release.merge import merge_shards
from dbtool.release.reduction import Reduction
from dbtool.store.contract import shard_schema
from producers.lock import only_writer
from producers.sweep import finished_trials, missing_trials
from producers.sweep.tasks import TrainingOptions

if TYPE_CHECKING:
    from pathlib import Path

TRIALS = 5
# Summing in another order changes float32 results in their last digits, and training amplifies it.
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def undisturbed(made_up_mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("undisturbed")
    assert sweep(small_study(), out, made_up_mnist, trials=TRIALS) == [(0, 1), (2, 3), (4,)]
    return out


def test_shards_lie_by_study_and_nothing_else_is_left(undisturbed: Path) -> None:
    files = [path for path in undisturbed.rglob("*") if path.is_file()]
    assert sorted(files) == shards(undisturbed)
    assert {path.parent for path in files} == {undisturbed / TRAINED / str(BATCH_SIZE)}
    assert [path.name[:19] for path in shards(undisturbed)] == [
        "trials-00000-00001-",
        "trials-00002-00003-",
        "trials-00004-00004-",
    ]


def test_every_step_has_its_row(undisturbed: Path) -> None:
    table = rows(undisturbed)
    assert all(pq.read_schema(path).equals(shard_schema()) for path in shards(undisturbed))
    assert table["trial_id"].tolist() == [id_ for id_ in range(TRIALS) for _ in range(STEPS + 1)]
    assert table["step"].tolist() == list(range(STEPS + 1)) * TRIALS
    started = table["step"] == 0
    # With ten classes and small weights the loss starts near that of a uniform guess, log 10.
    assert np.abs(table["val_cross_entropy_error"][started] - np.log(10)).max() < 1.0
    assert (table["batch_cross_entropy_error"][started] == -1).all()
    assert (table["batch_cross_entropy_error"][~started] > 0).all()


def test_evaluations_are_where_the_rule_says(undisturbed: Path) -> None:
    table = rows(undisturbed)
    first = table["trial_id"] == 0
    validated = table["step"][first & (table["val_cross_entropy_error"] != -1)]
    tested = table["step"][first & (table["test_classification_error"] != -1)]
    trained = table["step"][first & (table["train_classification_error"] != -1)]
    # Worked by hand: three steps at least, and 1.189 times the steps from 21 on: 24.97, 29.73.
    assert validated.tolist() == [0, 3, 6, 9, 12, 15, 18, 21, 25, 30]
    assert tested.tolist() == trained.tolist() == [0, 9, 18, 30]


def test_shard_tells_its_study_trials_and_producer(undisturbed: Path) -> None:
    study, path = small_study(), shards(undisturbed)[1]
    assert metadata(path, "dbtool_study") == study.description()
    trials = study.trials([2, 3])
    assert metadata(path, "dbtool_trials") == [
        {
            "trial_id": trial_id,
            "status": "COMPLETE",
            "steps": STEPS,
            "metaparameters": trials.metaparameters[index],
            "seed": trials.seeds[index],
        }
        for index, trial_id in enumerate([2, 3])
    ]
    producer = metadata(path, "dbtool_producer")
    assert producer["batches"] == "own"
    assert (producer["devices_per_trial"], producer["micro_batch"]) == (1, BATCH_SIZE)
    assert {"dbtool", "jax", "jaxlib", "flax", "optax", "numpy", "device"} <= set(producer)


def test_stopped_sweep_goes_on_with_the_same_rows(
    undisturbed: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    with pytest.raises(StoppedError):
        sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS, stop_after=1)
    (kept,) = shards(tmp_path)
    before = kept.stat()
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == [(2, 3), (4,)]
    assert (kept.stat().st_mtime_ns, kept.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert_same_rows(tmp_path, undisturbed)
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == []


def test_other_blocks_change_rows_by_rounding_alone(
    undisturbed: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS, block=100)
    assert len(shards(tmp_path)) == 1
    assert_same_rows(tmp_path, undisturbed, relative=TOLERANCE)


@pytest.mark.slow
def test_micro_batches_are_recorded_and_change_losses_by_rounding_alone(
    undisturbed: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    most = BATCH_SIZE // 2 + 1  # the largest divisor that is no more is half of the batch
    in_two = TrainingOptions(micro_batch=most)
    sweep(small_study(), tmp_path, made_up_mnist, trials=2, training=in_two)
    assert metadata(shards(tmp_path)[0], "dbtool_producer")["micro_batch"] == BATCH_SIZE // 2
    # Rounding grows from step to step, so the first steps tell.
    ours, whole = (rows(out)["batch_cross_entropy_error"][1:4] for out in (tmp_path, undisturbed))
    np.testing.assert_allclose(ours, whole, rtol=TOLERANCE)


def test_removed_shard_is_trained_again(
    undisturbed: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS)
    shards(tmp_path)[1].unlink()
    assert sweep(small_study(), tmp_path, made_up_mnist, trials=TRIALS) == [(2, 3)]
    assert_same_rows(tmp_path, undisturbed)


def test_shared_batches_are_recorded_and_change_the_rows(
    undisturbed: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    sweep(small_study(shared_batches=True), tmp_path, made_up_mnist, trials=2)
    assert metadata(shards(tmp_path)[0], "dbtool_producer")["batches"] == "shared"
    ours, own = rows(tmp_path), rows(undisturbed)
    first = slice(0, STEPS + 1)
    # The weights before the first step are the same, the batches are not.
    assert ours["val_cross_entropy_error"][0] == own["val_cross_entropy_error"][0]
    assert (ours["batch_cross_entropy_error"][first] != own["batch_cross_entropy_error"][first])[
        1:
    ].all()


@pytest.fixture(scope="module")
def diverging(made_up_mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("diverging")
    sweep(small_study(learning_rates=(1e-3, 1e12)), out, made_up_mnist, trials=8, block=8)
    return out


def test_diverged_trials_end_with_the_row_that_shows_it(diverging: Path) -> None:
    table, found = rows(diverging), statuses(diverging)
    assert set(found.values()) == {"COMPLETE", "INFEASIBLE"}
    recorded = {
        trial["trial_id"]: trial for trial in metadata(shards(diverging)[0], "dbtool_trials")
    }
    losses = [name for name in table if name.endswith("cross_entropy_error")]
    for trial_id, status in found.items():
        own = {name: values[table["trial_id"] == trial_id] for name, values in table.items()}
        finite = np.all([np.isfinite(own[name]) for name in losses], axis=0)
        assert own["step"].tolist() == list(range(recorded[trial_id]["steps"] + 1))
        if status == "COMPLETE":
            assert finite.all()
            assert own["step"][-1] == STEPS
        else:
            assert finite[:-1].all()
            assert not finite[-1]
            assert own["step"][-1] < STEPS


def test_diverged_trials_leave_the_others_alone(
    diverging: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    sweep(small_study(learning_rates=(1e-3, 1e12)), tmp_path, made_up_mnist, trials=8, block=1)
    found = statuses(diverging)
    assert statuses(tmp_path) == found
    together, alone = rows(diverging), rows(tmp_path)
    complete = [trial_id for trial_id, status in found.items() if status == "COMPLETE"]
    for name, values in together.items():
        np.testing.assert_allclose(
            values[np.isin(together["trial_id"], complete)],
            alone[name][np.isin(alone["trial_id"], complete)],
            rtol=TOLERANCE,
            err_msg=name,
        )


def test_trials_are_added_until_enough_are_feasible(made_up_mnist: Path, tmp_path: Path) -> None:
    study = small_study(steps=4, learning_rates=(1e-3, 1e12))
    sweep(study, tmp_path, made_up_mnist, trials=4, block=8, feasible=6)
    found = statuses(tmp_path)
    assert sum(status == "COMPLETE" for status in found.values()) >= 6
    assert sorted(found) == list(range(len(found)))
    assert len(found) > 6
    assert sweep(study, tmp_path, made_up_mnist, trials=4, block=8, feasible=6) == []


@pytest.mark.parametrize(
    ("trials", "feasible", "finished", "expected"),
    [
        (3, 0, "", [0, 1, 2]),
        (3, 0, "C.I", [1]),
        (3, 0, "III", []),
        (3, 1, "IIC", []),
        # Fewer than asked for: at least eight more, up to five times as many in all.
        (4, 3, "CCII", list(range(4, 12))),
        (2, 3, "II", list(range(2, 10))),
        (2, 3, "II" + "I" * 8, list(range(10, 15))),
        (2, 3, "I" * 15, []),
        # Half are feasible: the ten that are missing need twenty more.
        (20, 20, "CI" * 10, list(range(20, 40))),
        # What was added in a sweep that stopped is filled up, and not decided anew.
        (2, 3, "IICCC", list(range(5, 10))),
        (2, 3, "II.C", [2, *range(4, 10)]),
    ],
)
def test_next_trials_follow_from_the_finished_ones(
    trials: int, feasible: int, finished: str, expected: list[int]
) -> None:
    study = replace(small_study(), least_trials=trials, feasible_trials=feasible)
    status = {"C": "COMPLETE", "I": "INFEASIBLE"}
    done = {index: status[letter] for index, letter in enumerate(finished) if letter != "."}
    assert missing_trials(study, done) == expected


def test_another_definition_in_the_folder_is_named(made_up_mnist: Path, tmp_path: Path) -> None:
    sweep(small_study(steps=2), tmp_path, made_up_mnist, trials=1)
    with pytest.raises(DbtoolError, match=r"with another seed; .* --out") as caught:
        sweep(small_study(steps=2, seed=1), tmp_path, made_up_mnist, trials=1)
    assert str(shards(tmp_path)[0]) in str(caught.value)
    with pytest.raises(DbtoolError, match="with another train_steps;"):
        finished_trials(small_study(steps=3), tmp_path)
    with pytest.raises(DbtoolError, match=r"another search_space .*workload \(search_space\);"):
        finished_trials(small_study(steps=2, learning_rates=(1e-4, 10.0)), tmp_path)


def test_a_release_whose_own_shards_are_gone_is_gone_on_with(
    undisturbed: Path, made_up_mnist: Path, tmp_path: Path
) -> None:
    released = tmp_path / "released"
    merge_shards(
        shards(undisturbed)[:2], released, release="tests", title="A title", reduction=Reduction()
    )
    (merged,) = shards(released)
    assert sweep(small_study(), released, made_up_mnist, trials=TRIALS) == [(4,)]
    _, added = shards(released)
    whole = tmp_path / "whole"
    manifest = merge_shards([merged, added], whole, release="tests", reduction=Reduction())
    assert (manifest.title, manifest.licence) == ("A title", "CC-BY-4.0")
    assert_same_rows(whole, undisturbed)


def test_unsound_shards_are_named(made_up_mnist: Path, tmp_path: Path) -> None:
    study = small_study(steps=2)
    sweep(study, tmp_path, made_up_mnist, trials=1)
    (path,) = shards(tmp_path)
    whole = path.read_bytes()
    table = pq.read_table(path).replace_schema_metadata({"other": "x"})
    stripped = pa.BufferOutputStream()
    pq.write_table(table, stripped)
    for content in (whole[:-100], whole[:3], b"", stripped.getvalue().to_pybytes()):
        path.write_bytes(content)
        with pytest.raises(DbtoolError, match=r"is not a sound shard .*; move it away") as caught:
            sweep(study, tmp_path, made_up_mnist, trials=1)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_unfinished_files_are_cleared_away(made_up_mnist: Path, tmp_path: Path) -> None:
    study = small_study(steps=2)
    folder = study.folder(tmp_path)
    folder.mkdir(parents=True)
    left = folder / ".writing-abc.parquet"
    left.write_bytes(b"half a shard")
    strange = tmp_path / "somebody" / ".writing-letter"
    strange.parent.mkdir()
    strange.write_text("Dear")
    sweep(study, tmp_path, made_up_mnist, trials=1)
    assert not left.exists()
    assert strange.exists()


def test_two_sweeps_do_not_share_a_folder(made_up_mnist: Path, tmp_path: Path) -> None:
    study = small_study(steps=2)
    with (
        only_writer(tmp_path),
        pytest.raises(DbtoolError, match=r"another sweep writes into .*--out"),
    ):
        sweep(study, tmp_path, made_up_mnist, trials=1)
    assert list(tmp_path.iterdir()) == []
    assert sweep(study, tmp_path, made_up_mnist, trials=1) == [(0,)]


def test_lock_file_of_a_killed_sweep_holds_nobody_up(made_up_mnist: Path, tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    assert sweep(small_study(steps=2), tmp_path, made_up_mnist, trials=1) == [(0,)]
    assert not (tmp_path / ".lock").exists()


def test_folder_that_cannot_be_written_is_named(made_up_mnist: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DbtoolError, match=r"cannot write into .*file.* --out"):
            sweep(small_study(steps=2), out, made_up_mnist, trials=1)


def test_missing_folder_of_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere to take mnist from does not exist"):
        sweep(small_study(steps=2), tmp_path / "out", tmp_path / "nowhere", trials=1)


@pytest.mark.slow
def test_block_that_outgrows_the_memory_is_one_sentence(
    made_up_mnist: Path, tmp_path: Path
) -> None:
    study = small_study(steps=2)
    # 4 PB of weights a trial: more than there are addresses.
    endless = replace(study, workload=replace(study.workload, model="fc_100000000_10000000"))
    with pytest.raises(DbtoolError, match=r"with 2 trials together needs more memory .* --block"):
        sweep(endless, tmp_path, made_up_mnist, trials=2)
    assert shards(tmp_path) == []
