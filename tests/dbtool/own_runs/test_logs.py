"""The logs of other tools, each of the same two runs, and text logs, read as they are."""

import json
import math
from pathlib import Path

import pytest

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.sources.logs import stores
from dbtool.sources.logs.log import named_settings
from dbtool.sources.logs.source import detected, guess_logs
from dbtool.sources.logs.trainers import line_pattern, read_text
from tests.support.logs import (
    MAPPINGS,
    RUNS,
    TOOLS,
    WORKLOAD,
    ingest,
    write_huggingface,
    write_tensorboard,
)
from tests.support.own_runs import query, write


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The tool that wrote the logs of both runs into the folder `logs`."""
    name = str(request.param)
    (tmp_path / "logs").mkdir()
    for run, values in RUNS.items():
        TOOLS[name](tmp_path / "logs", run, values)
    return name


def test_each_tool_tells_the_same(tool, tmp_path):
    found = None if tool == "text" else tool.removesuffix("_database")
    assert detected([tmp_path / "logs"]) == found
    source = None if found else "text"
    report = ingest(tmp_path, "logs", source=source, mapping=MAPPINGS.get(tool, ""))
    assert (report.release, report.trials, report.studies) == ("logs", 2, 1)
    rows = """
        SELECT workload, batch_size, name, learning_rate, trials.status, step,
            round(batch_cross_entropy_error::DOUBLE, 6), val_classification_error
        FROM measurements JOIN trials USING (release, workload, batch_size, trial_id)
        ORDER BY name, step
    """
    *first, last = query(tmp_path, rows)
    assert first == [
        *((WORKLOAD, 8, "lr=0.1", 0.1, "COMPLETE", *values) for values in RUNS["lr=0.1"]),
        (WORKLOAD, 8, "lr=0.2", 0.2, "INFEASIBLE", *RUNS["lr=0.2"][0]),
    ]
    assert (math.isnan(last[6]), last[7]) == (True, 0.5)


STEP_OF_EPOCHS = 'step = { column = "epoch", times = N, plus = 1 }'


@pytest.mark.parametrize(
    ("tool", "ways"),
    [
        ("keras", ["--workload DATASET/MODEL/OPTIMIZER", "--batch-size N", STEP_OF_EPOCHS]),
        ("text", []),
    ],
    indirect=["tool"],
)
def test_what_logs_do_not_state_is_one_sentence(tool, ways, tmp_path):
    with pytest.raises(UsageError) as error:
        ingest(tmp_path, "logs", source=tool, workload=None, batch_size=None)
    [sentence] = error.value.args
    assert [way for way in ("--map", *ways) if way not in sentence] == []


def test_a_mapping_replaces_what_logs_suggest(tmp_path):
    write_huggingface(tmp_path / "logs", "lr=0.1,batch_size=16,nesterov=True", RUNS["lr=0.1"])
    lines = guess_logs([tmp_path / "logs"], "huggingface").mapping
    assert 'val_classification_error = { column = "eval_accuracy", transform = "1 - x" }' in lines
    mapping = (
        'release = "mine"\n[workload]\nmetric = "val_average_precision"\n[metaparameters]\n'
        'learning_rate = 0.3\n[metrics]\nval_average_precision = "eval_accuracy"\n'
    )
    ingest(tmp_path, "logs", mapping=mapping, batch_size=None)
    best = "SELECT max(val_average_precision), count(val_classification_error) FROM measurements"
    assert query(tmp_path, best) == [(0.92, 0)]
    trials = "SELECT release, batch_size, settings FROM trials"
    settings = '{"learning_rate":0.3,"nesterov":true}'
    assert query(tmp_path, trials) == [("mine", 16, settings)]


@pytest.mark.parametrize("writer", [write_tensorboard, write_huggingface])
def test_the_name_of_a_run_s_folder_says_what_it_was(tmp_path, writer):
    for size in (8, 16):
        writer(tmp_path / "logs", f"lr1e-2_bs{size}", RUNS["lr=0.1"])
    mapping = """
        [files]
        name = "lr{lr}_bs{bs}"
        [study]
        batch_size = { column = "bs" }
        [metaparameters]
        learning_rate = { column = "lr" }
    """
    ingest(tmp_path, "logs", mapping=mapping, batch_size=None)
    assert query(tmp_path, "SELECT batch_size, learning_rate FROM trials ORDER BY 1") == [
        (8, 0.01), (16, 0.01)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lr=0.1-seed=1", {"lr": "0.1", "seed": "1"}),
        ("lr=1e-3-wd=-0.1", {"lr": "1e-3", "wd": "-0.1"}),
        ("lr=0.1+wd=0.2 b=3&c=4", {"lr": "0.1", "wd": "0.2", "b": "3", "c": "4"}),
        ("[lr=0.1,wd=0.2]/(opt.name=adam)", {"lr": "0.1", "wd": "0.2", "opt.name": "adam"}),
        ("hidden=[64,64],f=g(2)_lr=0.1", {"hidden": "[64,64]", "f": "g(2)", "lr": "0.1"}),
        ("exp__lr=0.1__wd=0.2", {"lr": "0.1", "wd": "0.2"}),
        ("a__lr=0.1__b__lr=0.2", {"lr": "0.1", "b__lr": "0.2"}),
        ("fn_ab_00000_0_lr=0.01,wd=0.1_2024-01-01_10-00-00", {"lr": "0.01", "wd": "0.1"}),
        ("lr=0%2E1,data=cifar_10_seed=1", {"lr": "0.1", "data": "cifar_10", "seed": "1"}),
        ("date=2024-01-01,lr=1", {"date": "2024-01-01", "lr": "1"}),
        ("run_1/x__y", {}),
    ],
)
def test_settings_in_a_name(name, settings):
    assert named_settings(name) == settings


def test_folders_of_tensorboard(tmp_path):
    from tensorboardX import SummaryWriter

    settings = {"lr": 0.5, "batch_size": 64, "nesterov": False, "activation": "v2.0"}
    with SummaryWriter(str(tmp_path / "logs" / "a")) as writer:
        writer.add_scalar("loss", 0.25, 1)
        writer.add_scalars("score", {"val": 0.75}, 1)
        # A folder of its own, as is that of each curve.
        writer.add_hparams(settings, {"best": 0.1})
    tags = {"train": "epoch_loss", "validation": "evaluation_accuracy_vs_iterations"}
    for split, tag in tags.items():
        with SummaryWriter(str(tmp_path / "logs" / "b" / split)) as writer:
            writer.add_scalar(tag, 0.5, 1)
            writer.add_hparams(settings | {"seed": 7}, {}, name="hparams")
    ingest(tmp_path, "logs", batch_size=None)
    trials = "SELECT name, batch_size, learning_rate, settings->>'activation' FROM trials"
    assert query(tmp_path, f"{trials} ORDER BY name")[0] == ("a", 64, 0.5, "v2.0")
    values = """
        SELECT step, batch_cross_entropy_error, val_classification_error,
            other_metrics->>'val/score'
        FROM measurements ORDER BY batch_cross_entropy_error
    """
    assert query(tmp_path, values) == [(1, 0.25, None, "0.75"), (1, None, 0.5, None)]


def test_a_run_whose_folder_is_a_link_or_above_the_path_has_its_name(tmp_path):
    write_tensorboard(tmp_path / "store", "b", RUNS["lr=0.1"])
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a").symlink_to(tmp_path / "store" / "b")
    [events] = (tmp_path / "runs" / "a").iterdir()
    write_huggingface(tmp_path, "c", RUNS["lr=0.1"])
    [*_, checkpoint] = sorted((tmp_path / "c").iterdir())
    for path, name in ((events, "a"), (checkpoint, "c")):
        ingest(tmp_path, str(path.relative_to(tmp_path)), release=name)
        names = f"SELECT name FROM trials WHERE release = '{name}'"
        assert query(tmp_path, names) == [(name,)]


def test_runs_whose_folders_have_one_name_are_not_one_run(tmp_path):
    for sweep, values in zip("ab", (RUNS["lr=0.1"], RUNS["lr=0.2"]), strict=True):
        write_tensorboard(tmp_path / sweep, "run", values)
    both = [tmp_path / sweep / "run" for sweep in "ab"]
    for paths in (both, [next(each.iterdir()) for each in both], [each.parent for each in both]):
        with pytest.raises(DbtoolError) as error:
            dbtool.ingest(paths, tmp_path / "db", workload=WORKLOAD, batch_size=8)
        told = f"{both[0]} and {both[1]} would both be run 'run': name {tmp_path}, which has both"
        assert str(error.value).startswith(told)
    ingest(tmp_path, "*/run/*", source="tensorboard", release="r")
    assert query(tmp_path, "SELECT name FROM trials ORDER BY 1") == [("a/run",), ("b/run",)]


def test_events_of_a_killed_process_are_read_to_the_last_whole_one(tmp_path):
    write_tensorboard(tmp_path, "run", RUNS["lr=0.1"])
    [path] = (tmp_path / "run").iterdir()
    content = path.read_bytes()
    [whole] = stores.read_tensorboard(path)
    counts = []
    for end in range(0, len(content) + 1, 7):
        path.write_bytes(content[:end])
        [part] = stores.read_tensorboard(path)
        assert part.rows.equals(whole.rows.head(len(part.rows)))
        counts.append(len(part.rows))
    assert sorted(set(counts)) == list(range(len(whole.rows) + (counts[-1] == len(whole.rows))))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"trainer_state.json": "{"}, "trainer_state.json: it is not valid JSON"),
        ({"trainer_state.json": "[]"}, "trainer_state.json: it is not a JSON object"),
        ({"trainer_state.json": "{}"}, "trainer_state.json: it has no log_history"),
        ({"a.tfevents.1": "x" * 40}, "the logs have no measurements"),
        ({"meta.yaml": "run_id: a\n", "metrics/loss": "1 0.9 0\n2 0.8 0\n3 0.7 0\n"},
         "run 'a' has 3 values of 'loss' at one step: its steps were not logged"),
        ({"meta.yaml": "run_id: a\n", "metrics/loss": "1 2\n"}, "is not a time, a value and a ste"),
        ({"metrics.csv": "e,loss\n1,2\n", "hparams.yaml": ""}, "line 1: it has no column 'step'"),
        ({"metrics.csv": "", "hparams.yaml": ""}, "the logs have no measurements"),
        ({"metrics.csv": "step,loss\n1,2\n", "hparams.yaml": "", "trainer_state.json": "{}"},
         "give one of --from huggingface, as of"),
    ],
)  # fmt: skip
def test_logs_that_cannot_be_read(tmp_path, files, sentence):
    write(tmp_path / "logs", files)
    with pytest.raises(DbtoolError) as error:
        ingest(tmp_path, "logs")
    assert sentence in str(error.value)
    assert not (tmp_path / "db").exists()


@pytest.mark.parametrize("form", ["loss {loss}", "{step}", "{step} {a} {a}"])
def test_forms_of_lines_that_are_none(form):
    with pytest.raises(UsageError, match=r"should have \{step\} and metrics in braces"):
        line_pattern(form)


def test_a_text_log_without_a_line_of_the_form_is_named(tmp_path):
    mapping = '[files]\nline = "iter {step}: loss {loss}"\n'
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("nothing here\n")
    sentence = f"{tmp_path / 'logs' / 'a.log'}: no line has the form that files.line gives"
    with pytest.raises(DbtoolError) as error:
        ingest(tmp_path, "logs", source="text", mapping=mapping)
    assert str(error.value) == sentence
    (tmp_path / "logs" / "b.log").write_text("iter 5: loss 0.5\n")
    told: list[str] = []
    report = ingest(tmp_path, "logs", source="text", mapping=mapping, on_message=told.append)
    assert report.trials == 1
    assert sentence in told


def test_how_many_steps_a_run_was_to_take_may_be_in_its_log(tmp_path):
    status = "SELECT status, train_steps, settings FROM trials JOIN studies USING (batch_size)"
    for name in ("a", "b"):
        write_huggingface(tmp_path / "logs", name, RUNS["lr=0.1"][: 4 if name == "a" else 3])
    ingest(tmp_path, "logs", mapping='[study]\ntrain_steps = { column = "max_steps" }\n')
    expected = [("COMPLETE", 4, "{}"), ("INCOMPLETE", 4, "{}")]
    assert query(tmp_path, status) == expected
    (tmp_path / "text" / "logs").mkdir(parents=True)
    for name, steps in (("a", 4), ("b", 3)):
        lines = [f"step {step}/4: loss {0.5**step}\n" for step in range(1, steps + 1)]
        (tmp_path / "text" / "logs" / f"{name}.log").write_text("".join(lines))
    mapping = (
        '[files]\nline = "step {step}/{total}: loss {loss}"\n'
        '[study]\ntrain_steps = { column = "total" }\n'
    )
    ingest(tmp_path / "text", "logs", source="text", mapping=mapping)
    assert query(tmp_path / "text", status) == expected
    others = "SELECT count(other_metrics) FROM measurements"
    assert query(tmp_path / "text", others) == [(0,)]


def test_a_loss_that_huggingface_filtered_has_diverged(tmp_path):
    # logging_nan_inf_filter writes 0 in place of NaN, and evaluations have NaN as it is.
    evaluation = {"eval_accuracy": 0.1, "step": 2}
    history = [
        {"loss": 0.9, "step": 1},
        {"loss": 0.0, "grad_norm": math.nan, "step": 2},
        {"eval_loss": math.nan, **evaluation},
    ]
    text = json.dumps({"log_history": history, "max_steps": 2})
    write(tmp_path, {"logs/a/trainer_state.json": text})
    ingest(tmp_path, "logs", mapping='[study]\ntrain_steps = { column = "max_steps" }\n')
    assert query(tmp_path, "SELECT status FROM trials") == [("INFEASIBLE",)]
    with dbtool.record(tmp_path / "db" / "own", workload=WORKLOAD, batch_size=8) as trial:
        trial.log(2, loss=0.0)
        trial.log(2, val_cross_entropy_error=math.nan)
    assert query(tmp_path, "SELECT status FROM trials WHERE release = 'own'") == [("INFEASIBLE",)]


FORM = "step {step} loss {loss}"


@pytest.mark.parametrize(
    ("text", "values", "cut"),
    [
        ("step 10 loss 0.5\nstep 20 loss 0.\n", ["0.5", "0."], False),
        ("step 10 loss 0.5\nstep 20 loss 0.", ["0.5"], True),
        ("step 10 loss 0.5\r\nstep 20 loss 0.2 done", ["0.5", "0.2"], False),
        ("step 1 loss Infinity\nstep 2 loss -inf\n", ["Infinity", "-inf"], False),
        ("step 1 loss 1.#INF\nstep 2 loss -1.#IND00\n", ["inf", "-nan"], False),
        ("step 1 loss NaN\nstep 2 loss 1,024.5\n", ["NaN", "1024.5"], False),
    ],
)  # fmt: skip
def test_numbers_of_a_text_log(tmp_path, text, values, cut):
    (tmp_path / "a.log").write_bytes(text.encode())
    [run] = read_text(tmp_path / "a.log", [FORM])
    assert run.rows["value"].to_list() == values
    assert ("left out" in run.note) == cut


def test_two_values_at_a_step_of_a_text_log_are_refused(tmp_path):
    (tmp_path / "a.log").write_text(
        "Train step 10 loss 0.5\nTest step 10 loss 0.9\nTrain step 20 loss 0.75\n"
        # The run went on from a checkpoint.
        "Train step 30 loss 0.125\nTrain step 20 loss 0.25\n"
    )

    def ingested(line: str) -> list[tuple[object, ...]]:
        ingest(tmp_path, "a.log", source="text", mapping=f"[files]\n{line}\n")
        return query(tmp_path, "SELECT batch_cross_entropy_error FROM measurements ORDER BY step")

    told = r"line 2, column 'loss': step 10 .* line 1; give the forms in files\.line more"
    with pytest.raises(DbtoolError, match=told):
        ingested(f'line = "{FORM}"')
    assert ingested(f'line = "Train {FORM}"') == [(0.5,), (0.25,)]
    (tmp_path / "a.log").write_text("step 1 loss 1\nstep 2 loss 1\nstep 1 loss 2\n")
    with pytest.raises(DbtoolError, match="line 1; give each run a file of its own, or"):
        ingested(f'line = "{FORM}"')
