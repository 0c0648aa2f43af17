"""`dbtool explore` and `dbtool publish --explorer` as commands."""

import os
import subprocess
import sys

import pytest

from dbtool.explorer import page
from tests.support.explorer import contents_of, needs_explorer
from tests.support.made_up import DIGITS


@needs_explorer
def test_the_page_shows_the_workloads_that_are_chosen_and_repeats_the_database(
    call, database, tmp_path
):
    out = tmp_path / "new" / "digits.html"
    words = ("--db", str(database), "--release", "made-up", "--workload", "digits/*")
    done = call("explore", *words, "--out", str(out))
    assert (done.code, done.output, done.errors) == (0, f"{out}\n", "")
    contents = contents_of(out)
    assert [each["workload"] for each in contents.facts["workloads"]] == [DIGITS]
    assert contents.facts["options"] == ["--db", str(database)]
    assert contents.facts["bibtex"] + "\n" == call("cite").output
    assert {each["name"] for each in contents.figures["figures"]} >= {"steps", "learning-rates"}
    # Those that name their workloads themselves are not of these.
    assert not any("figure_" in each["name"] for each in contents.figures["figures"])
    assert not contents.figures["missing"][0]["full_name"].startswith("Figure")


@pytest.mark.slow
@needs_explorer
def test_it_is_shown_in_the_browser(database, tmp_path):
    browser, shown = tmp_path / "browser", tmp_path / "shown"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}\n')
    browser.chmod(0o755)
    words = [sys.executable, "-m", "dbtool", "explore", "--open", "--db", str(database)]
    environment = os.environ | {"BROWSER": f"{browser} %s", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert shown.read_text() == f"{(tmp_path / 'explorer.html').as_uri()}\n"


@pytest.mark.parametrize(
    ("sources", "command"), [(["page"], "make explorer"), ([], "pip install .")]
)
def test_without_its_application_it_says_what_builds_it(
    sources, command, call, database, tmp_path, monkeypatch
):
    for name in sources:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(page, "resources", lambda _: tmp_path)
    monkeypatch.chdir(tmp_path)
    before = {path.name for path in database.iterdir()}
    for words in (["explore"], ["publish", str(database), "--licence", "MIT", "--explorer"]):
        assert call(*words).sentence(1) == (
            f"dbtool: the explorer's application is not built: run `{command}` in the checkout, "
            "which needs Node.js 18 or newer with npm\n"
        )
    assert {path.name for path in database.iterdir()} == before
