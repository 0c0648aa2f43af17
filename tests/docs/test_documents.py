"""What documents show is taken by dbtool, and what a reader can carry out without more is run.

`docs/tour.py` carries out the tour, and `test_extending.py` the page that it is named for.
"""

import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from dbtool.cli.main import app
from tests.support.documents import DOCUMENTS, blocks
from tests.support.programs import CHECKOUT
from tests.support.published import write_shards
from tests.support.release_server import serving_release

SHELL = ("", "sh", "bash")
# Of these documents, blocks in these languages; other programs read published releases, which
# tests/dbtool/release/test_readers.py has them do.
RUN = {
    "README.md": (*SHELL, "python"),
    "first_release.md": (*SHELL, "python"),
    "cookbook.md": SHELL,
    "publishing.md": SHELL,
    "remote.md": (*SHELL, "python"),
    "scaling.md": SHELL,
}
# What needs other programs, an account, the archive, much time, or an answer of a person's.
ELSEWHERE = (
    *("make ", "pip ", "duckdb ", "http.server", "hf upload", "fetch\n", "published"),
    *("produce ", "--open", "--guess"),
)
URL = "https://example.org/my-release/"


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of dbtool in a shell's text."""
    words = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="();<>|&\n")
    words.whitespace, words.whitespace_split = " \t", True
    command: list[str] = []
    for word in [*words, ";"]:
        if not set(word) <= set("();<>|&\n"):
            command.append(word)
            continue
        if command[:1] == ["dbtool"]:
            yield command[1:]
        command = []


def test_every_command_is_one_that_dbtool_takes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my.bib").touch()
    group = typer.main.get_group(app)
    shown = [
        command
        for document in DOCUMENTS
        for block in blocks(document, *SHELL)
        if "dbtool " in block.text and "--from lines" not in block.text
        for command in commands(block.text)
    ]
    assert len(shown) > 100
    for words in shown:
        context = group.make_context("dbtool", [*words])
        command = group.get_command(context, words[0])
        assert command is not None, words
        command.make_context(words[0], words[1:], parent=context)


def test_programs_and_tables_can_be_read():
    for document in DOCUMENTS:
        for block in blocks(document, "python"):
            compile(block.text, document, "exec")
        for block in blocks(document, "toml"):
            tomllib.loads(block.text)


@pytest.mark.slow
@pytest.mark.parametrize("document", RUN)
def test_a_document_is_carried_out(document, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, words in (("dbtool", " -m dbtool"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        (programs / name).chmod(0o755)
    write_shards(tmp_path / "runs", release="runs")
    (tmp_path / "data").symlink_to(CHECKOUT / "data")
    (tmp_path / "my.bib").write_text("@misc{made-up, title = {Made-up numbers}}\n")
    steps = {256: 90, 512: 50, 1024: 30, 2048: 20}
    lines = [f"a,100,{size},{each}\n" for size, each in steps.items()]
    table = "".join(["workload,parameters,batch_size,steps\n", *lines])
    (tmp_path / "steps.csv").write_text(table)
    (tmp_path / "logs").mkdir()
    state = '{"log_history": [{"step": 10, "loss": 0.9}, {"step": 20, "loss": 0.5}]}'
    (tmp_path / "logs" / "trainer_state.json").write_text(state)
    texts = [
        f"python -c {shlex.quote(block.text)}\n" if block.language == "python" else block.text
        for block in blocks(document, *RUN[document])
        if not any(words in block.text for words in ELSEWHERE)
    ]
    assert texts
    with serving_release(CHECKOUT / "data" / "sample" / "replication_evaluations") as server:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "".join(texts).replace(URL, server.url)],
            cwd=tmp_path,
            env=os.environ
            | {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(CHECKOUT)}
            | {"NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
