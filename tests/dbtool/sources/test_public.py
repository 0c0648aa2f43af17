"""Public sources by name: git's tree, and the readers of searches and logs, on made-up files."""

import json
import lzma
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.sources.base import add_source
from dbtool.sources.public.catalog import (
    fetch_source,
    import_source,
    parts_of,
    public_source,
    public_sources,
)
from dbtool.sources.public.files import tree_id
from tests.support import own_runs
from tests.support.archives import query
from tests.support.file_server import Answer, serving


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose names git sorts unlike Python, with an executable and a link."""
    folder = tmp_path / "repository"
    files = {"results/a.txt": "1\n", "results.txt": "2\n", "results-b/x": "3\n", "Zürich": "4\n"}
    own_runs.write(folder, {**files, "run.sh": "#!/bin/sh\n", "empty": ""})
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("results/a.txt")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Add")
    return folder


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def packed(repository: Path, top: str) -> Path:
    target = repository.parent / f"{top}.tar.gz"
    git(repository, "archive", f"--prefix={top}/", "--output", str(target), "HEAD")
    return target


def test_a_repository_is_fetched_as_its_host_packs_it(repository, tmp_path, monkeypatch):
    [part] = parts_of("opda")
    own = msgspec.structs.replace(part, tree=git(repository, "rev-parse", "HEAD:"))
    monkeypatch.setattr("dbtool.sources.public.catalog.parts_of", lambda _name: (own,))
    contents = packed(repository, "renamed-top").read_bytes()
    with serving(contents) as server:
        # The host sends on to another one, tells no length and heeds no ranges.
        server.answers.append(Answer(status=302, headers={"Location": f"{server.root}moved"}))
        server.default = Answer(ranges=False, length="chunked")
        [path] = fetch_source("opda", tmp_path / "out", mirrors=[server.root])
        asked = [request.path.lstrip("/") for request in server.sent[:2]]
        assert asked == [f"nicholaslourie/opda/archive/{part.commit}.tar.gz", "moved"]
        server.sent.clear()
        assert fetch_source("opda", tmp_path / "out", mirrors=[server.root]) == [path]
        assert server.sent == []
    (repository / "results.txt").write_text("3\n")
    git(repository, "commit", "--quiet", "--all", "--message", "Change")
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / part.file_name).write_bytes(packed(repository, "x").read_bytes())
    with pytest.raises(DbtoolError, match=r"has the git tree .* in place of"):
        fetch_source("opda", tmp_path / "other", mirrors=[tmp_path / "mirror"])
    assert not list((tmp_path / "other").glob("*.gz"))


def test_every_source_is_read_by_its_name_and_the_names_of_its_parts(tmp_path):
    for name, source in public_sources().items():
        assert parts_of(name) == source.part
        assert public_source(source.part[-1].name, tmp_path).about.release == name
        assert source.licence


def test_searches_keep_their_space_and_their_curves(tmp_path):
    images: dict[str, Any] = {"iteration": 3, "nan_train_loss": False, "epochs": 20}
    images |= {"batch_size": 1_024, "lr": 0.5, "momentum": 0.9}
    images["learning_curve"] = [
        {"time": 300.5, "epoch": 0, "top_1": 0.25, "top_5": 0.5, "train_loss": 5.5},
        {"time": 600.0, "epoch": 1, "top_1": 0.3, "top_5": 0.6, "train_loss": 5.0},
    ]
    diverged = {**images, "iteration": 4, "nan_train_loss": True, "learning_curve": []}
    curves = {"matched": [[1_000, 0.8], [1_200, 0.85]], "mismatched": [[1_000, 0.75]]}
    texts: dict[str, Any] = {"iteration": 1, "train_batch_size": 56, "total_model_steps": 1_200}
    texts |= {"learning_rate": 1e-5, "learning_curves": curves}
    folder = tmp_path / "searches"
    folder.mkdir()
    lines = "".join(json.dumps(line) + "\n" for line in (images, diverged, "odd"))
    with lzma.open(folder / "alexnet_tuning.results.jsonl.xz", "wt") as file:
        file.write(lines)
    (folder / "deberta-base_tuning.results.jsonl").write_text(json.dumps(texts))
    report = add_source(public_source("opda", folder), tmp_path / "db")
    assert (report.trials, [len(parts) for parts in report.unused.values()]) == (3, [1])
    found = query(
        tmp_path / "db",
        "SELECT workload, batch_size, trial_id, step, val_classification_error, other_metrics "
        "FROM measurements ORDER BY ALL",
    )
    alexnet, deberta = "opda/imagenet/alexnet/sgd", "opda/multinli/deberta_base/adam"
    top_5 = "val_top_5_classification_error"
    mismatched = "val_mismatched_classification_error"
    assert found == [
        (alexnet, 1_024, 0, 1_251, 0.75, {"seconds": 300.5, top_5: 0.5}),
        (alexnet, 1_024, 0, 2_502, 0.7, {"seconds": 600.0, top_5: 0.4}),
        (deberta, 56, 0, 1_000, 0.2, {mismatched: 0.25}),
        (deberta, 56, 0, 1_200, 0.15, None),
    ]
    trials = query(
        tmp_path / "db",
        "SELECT status, steps, learning_rate, momentum FROM trials ORDER BY workload, trial_id",
    )
    assert trials == [
        ("COMPLETE", 2_502, 0.5, 0.9),
        ("INFEASIBLE", 0, 0.5, 0.9),
        ("COMPLETE", 1_200, 1e-5, None),
    ]


def test_logs_of_optimizers_may_hold_several_runs(tmp_path):
    folder = tmp_path / "results" / "20260430_adamh"
    folder.mkdir(parents=True)
    run = "step:0/250 val_loss:10.8 train_time:0.0s\nstep:250/250 val_loss:{} train_time:500ms\n"
    (folder / "a.txt").write_text("import torch\n" + run.format(3.28) + run.format(3.29))
    (tmp_path / "results" / "b.txt").write_text("nothing\n")
    report = add_source(public_source("modded-nanogpt", tmp_path), tmp_path / "db")
    assert report.unused == {"it has no evaluation": ["results/b.txt"]}
    found = query(
        tmp_path / "db",
        "SELECT workload, trial_id, step, val_cross_entropy_error, other_metrics['seconds'] "
        "FROM measurements ORDER BY ALL",
    )
    workload = "modded_nanogpt/fineweb/gpt2_124m/adamh"
    assert found == [
        (workload, 0, 0, 10.8, 0.0),
        (workload, 0, 250, 3.28, 0.5),
        (workload, 1, 0, 10.8, 0.0),
        (workload, 1, 250, 3.29, 0.5),
    ]


def test_batch_sizes_in_seconds_of_audio_are_samples(tmp_path):
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "val_loss_contrastive.csv").write_text(
        "step,batch size,value\n5000,87.5 sec,6684.4\n5000,10 min,6000\n"
    )
    (tmp_path / "csv" / "val_acc.csv").write_text("step,batch size,value\n5000,87.5 sec,0.15\n")
    add_source(public_source("w2v2-batch-size", tmp_path), tmp_path / "db")
    found = query(
        tmp_path / "db", "SELECT batch_size, step, other_metrics FROM measurements ORDER BY ALL"
    )
    assert found == [
        (1_400_000, 5_000, {"val_contrastive_loss": 6684.4, "val_accuracy": 0.15}),
        (9_600_000, 5_000, {"val_contrastive_loss": 6000.0}),
    ]


def test_a_damaged_archive_says_so(tmp_path, repository):
    whole = packed(repository, "x").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="it is damaged"):
        tree_id(tmp_path / "cut.tar.gz")
    with pytest.raises(DbtoolError, match="damaged or cut short"):
        add_source(public_source("opda", tmp_path / "cut.tar.gz"), tmp_path / "db")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.txt").write_text("no log")
    with pytest.raises(DbtoolError, match="nothing was added"):
        dbtool.ingest(tmp_path / "logs", tmp_path / "own", source="mllog")


def test_a_source_is_imported_by_its_name_from_what_was_fetched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [part] = parts_of("modded-nanogpt")
    logs = {"20260430_adamh/a.txt": "step:250/250 val_loss:3.2\n", "a.txt": "1\n"}
    own_runs.write(tmp_path / "y" / "results", logs)
    with tarfile.open(part.file_name, "w:gz") as tar:
        tar.add("y")
    said: list[str] = []
    report = import_source("modded-nanogpt", into="db", on_message=said.append)
    assert (report.release, report.trials) == ("modded-nanogpt", 1)
    assert said == [
        "added 1 trial and 1 measurement to modded-nanogpt; 0 trials already there",
        "not used: 1 part, such as y/results/a.txt: it has no evaluation",
        "in db/modded-nanogpt",
    ]
    assert import_source("modded-nanogpt", part.file_name, into="db").already_there == 1
