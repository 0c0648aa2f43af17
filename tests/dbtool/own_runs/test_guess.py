"""First mappings of the layouts of other tools, filled in as their errors say."""

import contextlib
import csv
import gzip
import io
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.sources.tables.guess import guess
from dbtool.sources.tables.source import read_own_runs
from tests.dbtool.own_runs.algoperf import write_logs
from tests.support.own_runs import read, values, write

# Small folders of runs in the layouts of other tools; every number follows from a rule of ours.
Write: TypeAlias = Callable[[Path], None]
STEPS = range(0, 60, 10)


def error_at(rate: float, step: int) -> float:
    return round(0.9 / (1 + rate * step), 6)


def pandas_long(folder: Path) -> None:
    """A data frame of a sweep: a row a step, every other one with an evaluation."""
    settings = product(("sgd", "momentum"), (0.1, 0.3), (8, 32), STEPS)
    rows = [
        {"": number, "dataset": "digits", "model": "mlp", "optimizer": optimizer, "lr": rate}
        | {"batch_size": size, "nesterov": optimizer == "momentum", "seed": 0, "step": step}
        | {"train_loss": error_at(rate, step) * 2}
        | {"val_error": error_at(rate, step) if step % 20 == 10 else None}
        for number, (optimizer, rate, size, step) in enumerate(settings)
    ]
    folder.mkdir()
    pl.DataFrame(rows).write_csv(folder / "results.csv")


def keras(folder: Path) -> None:
    """A log of Keras' CSVLogger a run: averages over each epoch."""
    folder.mkdir()
    for rate, seed in product((0.1, 0.01), (1, 2)):
        errors = [error_at(rate, epoch) for epoch in range(1, 6)]
        rows = [
            {"epoch": epoch, "accuracy": 1 - error, "loss": error * 2}
            | {"val_accuracy": round(1 - error, 6), "val_loss": error * 2}
            for epoch, error in enumerate(errors)
        ]
        pl.DataFrame(rows).write_csv(folder / f"lr={rate}_seed={seed}.csv")


LAYOUTS: Mapping[str, Write] = {"algoperf": write_logs, "pandas_long": pandas_long, "keras": keras}
FILLED = {
    "workload.dataset": '"digits"',
    "workload.model": '"mlp"',
    "workload.optimizer": '"adam"',
    "study.batch_size": "32",
    "files.step.times": "100",
}


# By layout, what a person has to fill in, and the runs, the steps of each and its smallest error.
EXPECTED: dict[str, tuple[set[str], int, int, float]] = {
    "algoperf": ({"workload.model", "workload.optimizer"}, 4, 390, 0.02),
    # 0.9 / (1 + 50 rate) at the last step of the largest rate.
    "pandas_long": (set(), 8, 50, 0.05625),
    # Five epochs of 100 updates, of which the first is 0 and ends after 100.
    "keras": (set(FILLED), 4, 500, 0.6),
    # The samples of docs/your_own_runs.md, by the values that their files show.
    "wandb": ({"workload.dataset"}, 5, 100, 0.2),
    "mlflow": ({"workload.optimizer"}, 4, 3, 0.05),
    "tensorboard": ({"workload.dataset", "workload.model", "workload.optimizer"}, 3, 600, 0.04),
    "tensorboard_csv": (set(FILLED) - {"files.step.times"}, 3, 600, 0.04),
    "lightning": ({"workload.dataset", "workload.model"}, 3, 200, 0.25),
}
SAMPLES = Path(__file__).parent / "samples"


def _read(folder: Path, text: str, kind: Any, source: str = "runs") -> Any:
    (folder / "mapping.toml").write_text(text, encoding="utf-8")
    return read_own_runs([folder / source], kind, folder / "mapping.toml")


@pytest.mark.parametrize("layout", EXPECTED)
def test_one_refused_attempt_at_most(layout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if layout in LAYOUTS:
        LAYOUTS[layout](Path("runs"))
    else:
        shutil.copytree(SAMPLES / layout, "runs", ignore=shutil.ignore_patterns("mapping.toml"))
    found = guess(Path("runs"))
    wanted, runs, steps, smallest = EXPECTED[layout]
    text = found.mapping
    if wanted:
        with pytest.raises(UsageError) as error:
            _read(Path(), text, found.kind)
        # All of it at once, a sentence each.
        asked = [re.findall(r'([a-z_.]+) is "\?"', sentence) for sentence in error.value.args]
        assert sorted(asked) == [[name] for name in sorted(wanted)]
    for name in wanted:
        text = re.sub(rf'(\b{name.split(".")[-1]} =) "\?"', rf"\1 {FILLED[name]}", text)
    read = _read(Path(), text, found.kind)
    assert (len(read.runs), max(run.steps for run in read.runs)) == (runs, steps)
    errors = [value for run in range(runs) for _, value in values(read, run=run)]
    assert min(errors) == pytest.approx(smallest, abs=1e-6)


def test_what_is_beside_runs_and_in_their_paths_is_kept(tmp_path):
    write_logs(tmp_path / "runs")
    text = guess(tmp_path / "runs").mapping.replace('"?"', '"x"')
    read = _read(tmp_path, text, "csv")
    assert read.mapping.files.run == ["study", "part_2", "trial"]
    [run] = [each for each in read.runs if each.name == "0/imagenet_resnet_jax/2"]
    settings = run.properties["metaparameters"]
    assert (settings["learning_rate"], settings["beta2"]) == (0.002, 0.998)
    assert "gpu_driver" not in settings
    assert run.properties["workload"]["train_examples"] == 1_281_167
    assert run.properties["trial"] == {"seed": 34}


def test_a_mapping_says_what_it_is_unsure_of(tmp_path):
    args = '{"tags": ["x"], "lr": 0.1, "lr_end": "0/1", "bs": 8, "name": "a"}'
    log = "step,loss,note,bs\n0,0.5,warm,8\n1,0.4,,8\n"
    beside = {"a/args.json": args, "a/more.yaml": "name: b\n", "a/list.json": "[1]"}
    write(tmp_path, {"a/log.csv": log, **beside})
    found = guess(tmp_path)
    mapping = tomllib.loads(found.mapping)
    read_beside = ["args.json", "more.yaml"]
    assert mapping["files"] == {"step": "step", "beside": read_beside, "ignore": ["note"]}
    assert mapping["study"] == {"batch_size": {"column": "bs"}}
    assert mapping["metrics"] == {"batch_cross_entropy_error": "loss"}
    for name in ("name", "tags"):
        assert (
            f'as no setting, a name of each run, or different in two files: "{name}"\n'
            in found.mapping
        )
    assert '# left out, as it cannot be read: "list.json"\n' in found.mapping
    assert mapping["workload"]["metric"] == "?"
    assert mapping["metaparameters"]["lr_end"] == {"column": "lr_end"}


def test_files_that_ingest_refuses_are_refused(tmp_path):
    cut = {"a/log.csv": "step,loss\n1,0.5\n2,0.4\n", "b/log.csv": "step,loss\n1\n2,0.4\n"}
    write(tmp_path, {**cut, "notes.csv": "a,b\n1\n"})
    with pytest.raises(DbtoolError, match=r"b/log\.csv line 2: it has 1 fields and the header 2"):
        guess(tmp_path)
    (tmp_path / "b" / "log.csv").write_text("step,loss\n1,0.5\n")
    assert guess(tmp_path).files == 2
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "a.csv").write_bytes(b"\xff")
    with pytest.raises(DbtoolError, match=r"a\.csv is not UTF-8"):
        guess(tmp_path / "latin")


def test_runs_are_found_in_tables_however_they_are_sorted(tmp_path):
    rows = [
        f"{step},{rate},{seed},{0.9 - 0.01 * step - rate - 0.001 * seed}"
        for step in range(8)
        for rate in (0.1, 0.2)
        for seed in range(3)
    ]
    for name, lines in (("by step", rows), ("by run", sorted(rows, key=lambda r: r.split(",")[1]))):
        (tmp_path / name).mkdir()
        table = pl.read_csv(io.StringIO("\n".join(["step,lr,seed,val_error", *lines])))
        table.write_parquet(tmp_path / name / "results.parquet")
        guessed = guess(tmp_path / name)
        assert (guessed.kind, tomllib.loads(guessed.mapping)["files"]["run"]) == (
            "parquet", ["lr", "seed"]
        )  # fmt: skip
    # A table of runs, which spells their numbers otherwise.
    text = "run,step,loss\n" + "".join(f"{n}.0,{step},0.5\n" for n in (1, 10) for step in (1, 2))
    write(tmp_path / "table", {"log.csv": text, "runs.csv": "id,lr\n1,0.5\n10,0.1\n2,0.1\n"})
    mapping = tomllib.loads(guess(tmp_path / "table").mapping)
    assert mapping["runs"]["run"] == "id"
    assert mapping["metaparameters"] == {"learning_rate": {"column": "lr"}}
    # Names with braces cannot be written as a pattern.
    write(tmp_path / "braces", {f"{name}/log.csv": "step,loss\n0,1\n" for name in ("a{", "b}")})
    assert tomllib.loads(guess(tmp_path / "braces").mapping)["files"] == {"step": "step"}
    # Of which some are compressed: a pattern of names would lose the others.
    text = "step,loss\n1,0.5\n2,0.4\n"
    write(tmp_path / "mixed", {"a.csv": text, "b.csv.gz": gzip.compress(text.encode())})
    found = guess(tmp_path / "mixed").mapping.replace('size = "?"', "size = 8")
    found = found.replace('metric = "?"', 'metric = "test_classification_error"')
    found = found.replace('"?"', '"x"')
    assert [run.name for run in _read(tmp_path, found, "csv", "mixed").runs] == ["a", "b"]
    # A file a study, with runs in it; and with a number of the row, which names no run.
    text = "id,run,step,loss\n" + "".join(f"{n},r{n % 2},{n // 2},0.5\n" for n in range(9))
    write(tmp_path / "studies", {f"{study}/log.csv": text for study in "ab"})
    files = tomllib.loads(guess(tmp_path / "studies").mapping)["files"]
    assert (files["name"], files["run"]) == ("{part_1}/log.csv", ["part_1", "run"])


TWO_RUNS = {"a/log.csv": "step,loss,eval_accuracy\n10,1,\n20,0.5,0.7\n30,0.4,0.8\n"}
TWO_RUNS["b/log.csv"] = TWO_RUNS["a/log.csv"].replace("0.8", "0.9")


@pytest.mark.parametrize(
    ("settings", "study"),
    [
        ({"batch_size": 12, "gradient_accumulation_steps": 40}, "batch_size 12 x gradient_accu"),
        ({"per_device_train_batch_size": 8, "train_batch_size": 8, "world_size": 4}, "= 32, unle"),
        ({"batch_size": 12, "gradient_accumulation_steps": 1}, None),
        ({"batch_size": 8, "device": "cuda", "num_workers": 4, "accuracy": 2}, None),
        *(
            ({"batch_size": 8, name: 4}, "= 32, unless")
            for name in (
                *("accum_iter", "update_freq", "trainer.accumulate_grad_batches"),
                *("grad_accumulation", "grad_acc_steps", "num_gpu", "nproc_per_node"),
                *("gpus_per_node", "dp_size"),
            )
        ),
        ({"global_batch_size": 64, "world_size": 4}, None),
    ],
)
def test_a_batch_size_of_a_device_is_not_the_global_one(tmp_path, settings, study):
    write(tmp_path, TWO_RUNS | {f"{run}/config.json": json.dumps(settings) for run in "ab"})
    mapping = guess(tmp_path).mapping
    [line] = re.findall(r"^batch_size = .*", mapping.partition("[study]")[2], re.MULTILINE)[:1]
    assert ('"?"' in line) == (study is not None)
    assert study is None or study in line


def test_what_tells_who_where_and_when_is_no_metaparameter(tmp_path):
    about = {
        "user": "ann", "hostname": "node7", "output_dir": "/data/ann/runs", "git_commit": "ab12",
        "start_time": "2024-01-31T10:00:00", "created_at": 1706695200, "best_val_acc": 0.93,
        "seed": 1700000000,
        "final_loss": 0.2, "data": "s3://bucket/a/b", "checkpoint": "last.ckpt",
        **dict.fromkeys(("logdir", "outputDir", "run_name", "slurm_job_id", "wandb_id"), "a"),
        **dict.fromkeys(("pid", "master_addr", "walltime", "lastEpochLoss", "val_loss_final"), 1),
        "begun": "20240101_120000",
        "lr": 0.1, "criterion": "mse", "loss_weight": 0.5, "nodes_hidden": 64,
        "max_lr": 1, "weightDecay": 0.1, "last_layer": "x", "bidir": True,
    }  # fmt: skip
    write(tmp_path, TWO_RUNS | {f"{run}/config.json": json.dumps(about) for run in "ab"})
    mapping = tomllib.loads(guess(tmp_path).mapping)
    expected = {"learning_rate", "criterion", "loss_weight", "nodes_hidden"}
    expected |= {"max_lr", "weightdecay", "last_layer", "bidir"}
    assert {*mapping["metaparameters"]} == expected


def test_names_of_runs_are_no_metaparameters(tmp_path):
    runs: list[Any] = []
    history: list[Any] = []
    for number, (rate, seed) in enumerate(product((0.1, 0.3), (1, 2))):
        about = {"id": f"x{number}", "name": f"fox-{number}", "label": f"lr{rate}_seed{seed}"}
        runs.append({**about, "lr": rate, "seed": seed, "schedule": "ab"[seed - 1]})
        history += [{"run": f"x{number}", "step": step, "val_error": 0.5} for step in (10, 20)]
    files = {"runs.jsonl": runs, "history.jsonl": history}
    write(tmp_path, {name: "\n".join(map(json.dumps, rows)) for name, rows in files.items()})
    text = guess(tmp_path).mapping
    assert {*tomllib.loads(text)["metaparameters"]} == {"learning_rate", "schedule"}
    assert re.findall('a name of each run, or .*"(.*)"', text) == ["label", "name"]


def test_guess_counts_steps_as_ingest_takes_them(tmp_path):
    for number, (text, line) in enumerate(
        (
            ('{"_step": 0, "loss": 2}\n{"_step": 1, "loss": 1}\n{"_step": 2, "loss": 1}\n',
             'step = { column = "_step", times = "?", plus = 1 }'),
            ('{"_step": 0, "global_step": 50, "loss": 2}\n{"_step": 1, "global_step": 99}\n',
             'step = "global_step"'),
            ('{"_step": 0, "train/iter": 35, "opt/updates": 5, "loss": 2, "train_steps": 9}\n' * 2,
             'step = "opt/updates"'),
            ('{"step": 49, "loss": 2}\n{"step": 99, "loss": 1}\n{"step": 100, "test_acc": 0.5}\n',
             'step = { column = "step", plus = 1 }'),
        )
    ):  # fmt: skip
        folder = tmp_path / str(number)
        write(folder, {"log.jsonl": text})
        found = guess(folder).mapping
        assert line in found
        assert ("plus = 0" in found) == ("test_acc" in text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("step,r1 - val/err,r1 - val/err__MIN\n0,0.3,0.2\n", "is a chart of Weights & Biases' web"),
        ("number,value,datetime_start,state\n0,0.3,2024-01-01,COMPLETE\n",
         "is a table of Optuna's trials, with one final value each: when a trial came"),
    ],
    ids=["a chart", "optuna"],
)  # fmt: skip
def test_what_guess_refuses_ingest_refuses_in_the_same_words(tmp_path, text, words):
    with pytest.raises(DbtoolError, match=words) as refused:
        read(tmp_path, text)
    with pytest.raises(DbtoolError, match=re.escape(str(refused.value))):
        guess(tmp_path)


NAMES = st.sampled_from(
    [
        *("step", "epoch", "run", "loss", "val_acc", "lr", "seed", "state", "batch_size"),
        *("metric", "value", "dataset", "a.b", 'q"', "", "ü", "\x7f"),
    ]
)
TEXTS = st.sampled_from(
    [
        *("0", "1", "2", "0.5", "95", "x", "", "nan", "inf", "1e400", "True", "finished"),
        *("[1]", "\x1b", "a\nb", "x" * 200, "a/b", "\x00"),
    ]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(NAMES, min_size=1, max_size=5, unique=True).flatmap(
        lambda names: st.lists(
            st.lists(TEXTS, min_size=len(names), max_size=len(names)), min_size=1, max_size=6
        ).map(lambda rows: [names, *rows])
    ),
    st.integers(1, 3),
)
def test_any_table_gives_toml_or_a_sentence(tmp_path, rows, files):
    table = io.StringIO()
    csv.writer(table).writerows(rows)
    folder = tmp_path / str(files)
    write(folder, {f"v{number}/m.csv": table.getvalue() for number in range(files)})
    try:
        found = guess(folder)
    except UsageError:
        return
    assert tomllib.loads(found.mapping)["files"]["step"]
    text = found.mapping.replace('times = "?"', "times = 2").replace('size = "?"', "size = 8")
    text = text.replace('metric = "?"', 'metric = "test_classification_error"')
    with contextlib.suppress(DbtoolError):
        _read(tmp_path, text.replace('"?"', '"x"'), found.kind, str(files))
