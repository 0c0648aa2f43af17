"""Folders as sources, what names runs, files beside them, and files that have grown or changed."""

import json
from typing import Any

import pytest

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.index import ClashError
from dbtool.sources.base import add_source
from dbtool.sources.ingest import preview
from dbtool.sources.tables.source import RunSource
from dbtool.store.table_files import RunsError
from tests.support.made_up import curve, write_shard
from tests.support.own_runs import load, query, read, refused, write

CURVE = "step,error\n0,0.9\n10,0.05\n"
BY_PATH = {"run": '["study", "trial"]', "name": '"{study}/trial_{trial}/m.csv"'}


def _names(found: RunSource) -> list[str]:
    return [each.name for each in found.runs]


# Each line stands for the one before ten times.
LAUGHS = "a0: &a0 [1]\n" + "".join(
    f"a{at}: &a{at} [{','.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 40)
)


# Each of many names begins with the long one.
DEEP = json.dumps({"a" * 1_000_000: {f"b{at}": at for at in range(100_000)}})


def test_a_folder_is_the_files_that_the_mapping_fits(tmp_path):
    files = {f"runs/{study}/trial_{n}/m.csv": CURVE for study in "ab" for n in (1, 2, 10)}
    files |= {"runs/a/trial_1/other.csv": "x\n", "runs/.cache/a/trial_3/m.csv": "x\n"}
    write(tmp_path, files)
    expected = ["a/1", "a/2", "a/10", "b/1", "b/2", "b/10"]
    for source in ("runs", "runs/**/m.csv", "runs/*/trial_*/m.csv"):
        assert _names(read(tmp_path, {}, paths=source, files=BY_PATH)) == expected
    of_b = read(tmp_path, {}, paths="runs/b/*/m.csv", files=BY_PATH)
    assert _names(of_b) == expected[3:]
    # Without a pattern of names, every file of the format but the table of runs.
    write(tmp_path, {"plain/x.csv": CURVE, "plain/y.csv": CURVE, "plain/runs.csv": "run\nx\ny\n"})
    found = read(tmp_path, {}, paths="plain", runs={"file": '"plain/runs.csv"'})
    assert _names(found) == ["x", "y"]


def test_a_part_of_a_path_takes_slashes(tmp_path):
    write(tmp_path, {"logs/a/1/m.csv": CURVE, "logs/b/m.csv": CURVE})
    names = {"run": None, "name": '"logs/{run:path}/m.csv"'}
    assert _names(read(tmp_path, {}, paths="logs", files=names)) == ["a/1", "b"]
    with pytest.raises(UsageError, match="begins with a part that takes slashes"):
        read(tmp_path, {}, paths="logs", files=names | {"name": '"{run:path}/m.csv"'})


def test_files_that_are_not_named_as_the_mapping_says(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path, {"there.csv": CURVE})
    with pytest.raises(DbtoolError, match=r"no file in .*empty is named as the mapping says, "):
        read(tmp_path, {}, paths="empty", files=BY_PATH)
    with pytest.raises(DbtoolError, match=r"there\.csv is not named as the mapping says, {study}/"):
        read(tmp_path, {}, paths="there.csv", files=BY_PATH)


def test_several_columns_name_a_run(tmp_path):
    text = "lr,seed,step,error\n0.1,0,0,0.9\n0.1,1,5,0.8\n0.2,0,0,0.7\n0.1,0,5,0.6\n"
    table = "lr,seed,size\n0.1,0,8\n0.1,1,8\n0.2,0,16\n0.2,1,16\n"
    found = read(
        tmp_path,
        {"log.csv": text, "runs.csv": table},
        files={"run": '["lr", "seed", "lr"]'},
        runs={"file": '"runs.csv"', "run": '["lr", "seed"]'},
        study={"batch_size": '{ column = "size" }'},
    )
    assert _names(found) == ["0.1/0", "0.1/1", "0.2/0"]
    assert [each.study.batch_size for each in found.by_study] == [8, 16]
    assert found.sentences == ("left out, as they have no measurements: 0.2/1",)
    clash = "lr,seed,step,error\na/b,c,0,0.9\na,b/c,0,0.8\n"
    with pytest.raises(RunsError, match="'a' and 'b/c' would be one run with 'a/b' and 'c'"):
        read(tmp_path, clash, files={"run": '["lr", "seed"]'})


def test_the_names_of_folders_that_are_links_are_read(tmp_path):
    write(tmp_path / "store", {f"{name}/m.csv": CURVE for name in "xy"})
    (tmp_path / "runs").mkdir()
    for name, target in zip("ab", "xy", strict=True):
        (tmp_path / "runs" / name).symlink_to(tmp_path / "store" / target)
    for pattern, names in (("runs/{run}/m.csv", ["a", "b"]), ("{run}/m.csv", ["x", "y"])):
        files = {"name": f'"{pattern}"'}
        assert _names(read(tmp_path, {}, paths="runs/*/m.csv", files=files)) == names


def test_files_beside_say_what_a_run_was(tmp_path):
    hparams = "lr: 0.1\nbs: 1.6e1\nopt: {name: adam, nesterov: true}\nnote: ~\nact: !!str relu\n"
    about = '{\n "seed": 3,\n "rate": 0.30,\n "name": "first"\n}'
    write(tmp_path, {f"r/{n}/m.csv": CURVE for n in "ab"})
    write(tmp_path, {"r/a/hparams.yaml": hparams, "r/a/about.json": about})
    write(tmp_path, {"r/b/hparams.yaml": hparams.replace("relu", "'2.0'"), "r/b/about.json": "{}"})
    found = read(
        tmp_path,
        {},
        paths="r",
        files={"name": '"{run}/m.csv"', "run": None, "beside": '["hparams.yaml", "about.json"]'},
        study={"batch_size": '{ column = "bs" }'},
        trial={"seed": '{ column = "seed" }'},
        metaparameters={
            "learning_rate": '{ column = "lr" }',
            "nesterov": '{ column = "opt.nesterov" }',
            "activation": '{ column = "act" }',
            "note": '{ column = "note", default = "none" }',
            "rate": '{ column = "rate" }',
            "given": '"by hand"',
        },
    )
    add_source(found, tmp_path / "db" / found.about.release)
    rows = query(tmp_path, "SELECT name, batch_size, seed, settings FROM trials ORDER BY name")
    shared = '"given":"by hand","learning_rate":0.1,"nesterov":true,"note":"none"'
    assert rows == [
        ("a", 16, 3, f'{{"activation":"relu",{shared},"rate":0.3}}'),
        ("b", 16, None, f'{{"activation":2.0,{shared}}}'),
    ]
    numbers = "SELECT metaparameters FROM trials WHERE name = 'a'"
    assert query(tmp_path, numbers) == [
        ({"activation": None, "given": None, "learning_rate": 0.1, "nesterov": 1.0}
         | {"note": None, "rate": 0.3},)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ({"h.yaml": "lr: ["}, "h.yaml: it is no YAML"),
        ({"h.yaml": "- 1"}, "h.yaml: it holds no names and values"),
        ({"h.yaml": LAUGHS}, "h.yaml: its anchors stand for more than 1,000,000 values"),
        ({"h.json": DEEP}, "h.json: a name in it has more than 1,000 letters"),
        ({"h.json": "{"}, "h.json: it is no JSON; the whole file is one object"),
        ({"h.json": '{"lr": "x"}'}, "h.json, column 'lr': learning_rate is \"x\", and "),
        ({"h.json": '{"lr": 1, "lr": 2}'}, "h.json, column 'lr': it is there twice: rename one"),
        ({"h.yaml": "lr: 1\nlr: 2\n"}, "h.yaml, column 'lr': it is there twice: rename one"),
        ({"h.json": '{"o": {"lr": 1}, "o.lr": 2}'}, "h.json, column 'o.lr': it is there twice"),
        ({"a.json": '{"lr": 1}', "b.yaml": "lr: 2"},
         "b.yaml, column 'lr': run 'm' has '2', and had '1' at a.json"),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)  # fmt: skip
def test_sentences_about_files_beside(tmp_path, beside, sentence):
    settings = {"learning_rate": '{ column = "lr" }'}
    files = {"run": None, "beside": json.dumps([*beside])}
    told = refused(tmp_path, {"m.csv": CURVE}, also=beside, files=files, metaparameters=settings)
    assert told.startswith(sentence)


COLUMNS: dict[str, tuple[str, ...]] = {
    "workload": (
        *("collection", "dataset", "model", "optimizer", "sparsity"),
        *("metric", "goal", "goal_inclusive", "train_examples"),
    ),
    "study": ("batch_size", "train_steps", "early_stopping"),
    "trial": ("trial_id", "status", "seed"),
    "metaparameters": ("momentum",),
    "files.step": ("times", "divide"),
}


def test_what_is_read_from_a_column_that_no_file_has_is_named_once_for_all_runs(tmp_path):
    column = '{ column = "batch" }'
    changes: dict[str, Any] = {
        table: dict.fromkeys(keys, column) for table, keys in COLUMNS.items()
    }
    units = ", ".join(f"{key} = {each}" for key, each in changes.pop("files.step").items())
    changes["files"] = {"step": f'{{ column = "step", {units} }}'}
    with pytest.raises(RunsError) as error:
        load(tmp_path, {"1.csv": "run,step,error,batches\na,0,0.9,8\nb,0,0.9,8\n"}, **changes)
    assert sorted(error.value.args) == sorted(
        f"the mapping reads {table}.{key} from the column 'batch', which neither the files nor the "
        "table of runs have; closest: 'batches'"
        for table, keys in COLUMNS.items()
        for key in keys
    )


def test_all_problems_at_once(tmp_path):
    text = "run,step,error,bs,lr,note\n" + "".join(
        f"a{n},{'x' if n == 1 else n},{8 if n % 2 else 0.5},{'' if n == 2 else 32},{n},hm\n"
        for n in range(8)
    )
    with pytest.raises(RunsError) as error:
        load(
            tmp_path,
            {"1.csv": text, "2.csv": "run,step,error\n\xff\n"},
            study={"batch_size": '{ column = "bs" }'},
            metaparameters={"momentum": '{ column = "mom" }'},
            metrics={"batch_cross_entropy_error": '"losss"'},
        )
    sentences = [each.replace(f"{tmp_path}/", "") for each in error.value.args]
    # Three of each kind, then how many there are besides.
    starts = [
        "2.csv line 2: it has 1 fields and the header 3",
        "1.csv line 3, column 'error': '8' is not a share",
        "1.csv line 5, column 'error': '8' is not a share",
        "1.csv line 7, column 'error': '8' is not a share",
        "1.csv line 2, column 'note': 'hm' is not a number",
        "1.csv line 3, column 'note': 'hm' is not a number",
        "1.csv line 4, column 'note': 'hm' is not a number",
        "1.csv line 3, column 'step': 'x' is not a step",
        "the mapping reads metaparameters.momentum from the column 'mom'",
        "1.csv line 4, column 'bs': run 'a2' has no batch_size",
        # The notes of five more rows, and one more error.
        "and 6 more problems like these",
    ]
    assert [each[: len(start)] for each, start in zip(sentences, starts, strict=True)] == starts


def test_a_folder_of_no_tool_s_logs_says_what_to_do(tmp_path):
    (tmp_path / "runs").mkdir()
    with pytest.raises(UsageError, match="describes logs, and none of a tool was recognised"):
        dbtool.ingest(tmp_path / "runs", tmp_path / "db", workload="a/b/c")
    (tmp_path / "runs" / "run-1.wandb").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"Weights & Biases in a form of its own: sync them"):
        dbtool.ingest(tmp_path / "runs", tmp_path / "db", workload="a/b/c")


HEADER = "run,step,error,size\n"
SIZED: Any = {"study": {"batch_size": '{ column = "size" }'}, "files": {"sampled": "true"}}
RUNS = "SELECT batch_size, trial_id, name, steps FROM trials ORDER BY ALL"


def test_new_runs_follow_those_that_are_there(tmp_path):
    load(tmp_path, {"1.csv": f"{HEADER}a,20,0.5,8\nb,30,0.5,8\n"}, **SIZED)
    # The newest first, as some tools export them.
    text = f"{HEADER}d,5,0.4,16\nc,20,0.5,8\nb,30,0.5,8\na,20,0.5,8\n"
    report = load(tmp_path, {"1.csv": text}, **SIZED)
    assert (report.shards, report.studies, report.trials, report.already_there) == (2, 1, 2, 2)
    assert query(tmp_path, RUNS) == [
        (8, 0, "a", 20), (8, 1, "b", 30), (8, 2, "c", 20), (16, 0, "d", 5)
    ]  # fmt: skip
    assert query(tmp_path, "SELECT train_steps FROM studies ORDER BY batch_size") == [(20,), (5,)]
    versions = query(tmp_path, "SELECT DISTINCT producer->>'dbtool' FROM trials")
    assert versions == [(dbtool.__version__,)]


def test_given_numbers(tmp_path):
    trial = {"trial_id": '{ column = "n" }'}
    text = "run,step,error,n\na,0,0.5,7\nb,0,0.5,3\n"
    load(tmp_path, {"1.csv": text}, trial=trial)
    assert query(tmp_path, RUNS) == [(32, 3, "b", 0), (32, 7, "a", 0)]
    with pytest.raises(RunsError, match="run 'c' has trial_id 7, which 'a' of the same study has"):
        load(tmp_path, {"1.csv": f"{text}c,0,0.5,7\n"}, trial=trial)
    with pytest.raises(RunsError, match="run 'b' has trial_id 7, which 'a' of the same study has"):
        load(tmp_path, {"1.csv": text.replace(",3", ",7")}, trial=trial, release="other")


def test_a_run_that_has_changed_is_refused_and_nothing_is_stored(tmp_path):
    load(tmp_path, {"1.csv": f"{HEADER}a,20,0.5,8\n"}, **SIZED)
    text = f"{HEADER}b,10,0.5,4\na,20,0.5,8\na,30,0.4,8\n"
    told = (
        "^run 'a' is already there as trial 0 with other contents: "
        "load what has changed as another release, which --release names$"
    )
    with pytest.raises(RunsError, match=told):
        load(tmp_path, {"1.csv": text}, **SIZED)
    assert query(tmp_path, RUNS) == [(8, 0, "a", 20)]
    load(tmp_path, {"1.csv": text}, **SIZED, release="again")
    assert len(query(tmp_path, RUNS)) == 3


def test_what_a_mapping_says_anew_of_the_same_runs_is_not_lost(tmp_path):
    own = {"1.csv": f"{HEADER}a,20,0.5,8\n"}
    load(tmp_path, own, **SIZED)
    changed: list[dict[str, Any]] = [
        {"workload": {"goal": "0.2"}},
        {"search_space": {"learning_rate": "{ min = 0.1, max = 1 }"}},
        {"study": {"train_steps": "10"} | SIZED["study"]},
    ]
    top = {"title": '"A sweep"', "licence": '"CC0-1.0"', "citation": '"@misc{x}"'}
    for changes in changed:
        with pytest.raises(ClashError, match=r"differs from the one that is there in"):
            load(tmp_path, own, top=top, **SIZED | changes)
    about = "SELECT title, licence, citation FROM releases"
    assert query(tmp_path, about) == [(None, None, None)]
    assert load(tmp_path, own, **SIZED, top=top).notes == []
    kept = "own keeps its own licence, which `dbtool publish` replaces"
    assert load(tmp_path, own, **SIZED, top=top | {"licence": '"MIT"'}).notes == [kept]
    assert query(tmp_path, about) == [("A sweep", "CC0-1.0", "@misc{x}")]


@pytest.mark.parametrize(
    ("metric", "column", "goal"),
    [
        ("val_bleu", '"bleu"', "30"),
        ("val_bleu", None, "30"),
        ("val_wer", '{ column = "bleu", transform = "1 - x / 100" }', "0.7"),
    ],
)
def test_a_goal_may_be_of_any_metric(tmp_path, metric, column, goal):
    changes: Any = {
        "workload": {"metric": f'"{metric}"', "goal": goal},
        "metrics": {"val_classification_error": None, metric: column},
    }
    # One that diverged in it is no more COMPLETE than by a loss.
    name = "bleu" if column else metric
    text = f"run,step,{name}\na,10,29.5\na,20,31\nb,10,12\nb,20,nan\n"
    load(tmp_path, {"1.csv": text}, **changes)
    steps = "SELECT steps FROM steps_to_result(NULL, NULL, NULL, NULL, NULL)"
    assert query(tmp_path, steps) == [(20,)]
    statuses = "SELECT status FROM trials ORDER BY name"
    assert query(tmp_path, statuses) == [("COMPLETE",), ("INFEASIBLE",)]


def test_a_metric_of_the_goal_that_no_run_has_is_refused(tmp_path):
    loss: Any = {"workload": {"metric": '"val_cross_entropy_error"', "goal": "2"}}
    source = read(tmp_path, CURVE, **loss)
    told = (
        "no run of digits/mlp/sgd has val_cross_entropy_error, the workload.metric of the mapping; "
        "closest of their metrics: 'val_classification_error'; name one there, or the column that "
        "becomes it as metrics.val_cross_entropy_error"
    )
    for act in (preview, lambda source: add_source(source, tmp_path / "release")):
        with pytest.raises(RunsError) as error:
            act(source)
        assert error.value.args == (told,)
    # A run may end before its first evaluation, beside others and after them.
    loss["metrics"] = {"val_cross_entropy_error": '"loss"'}
    header = "run,step,error,loss\n"
    load(tmp_path, {"1.csv": f"{header}a,0,0.9,1.5\nb,0,0.9,\n"}, **loss)
    assert load(tmp_path, {"2.csv": f"{header}c,0,0.8,\n"}, **loss).trials == 1


def test_a_release_of_other_measurements_is_left_alone(tmp_path):
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.2]))]
    write_shard(tmp_path / "db" / "measured", trials=trials, release="measured")
    own = {"1.csv": f"{HEADER}a,20,0.5,8\n"}
    with pytest.raises(UsageError, match="'measured' holds other measurements than your own runs"):
        load(tmp_path, own, **SIZED, release="measured")
    load(tmp_path, own, **SIZED)
    assert query(tmp_path, "SELECT release FROM releases") == [("measured",), ("own",)]
