"""What an installation carries: the wheel's files and size, and that every version is pinned."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from typing import Any

import pytest

import dbtool
from tests.support.explorer import BUILT, needs_explorer
from tests.support.made_up import write_release
from tests.support.programs import CHECKOUT, run_python

MOST_WHEEL_BYTES = 6_000_000
MOST_DATA_BYTES = 40_000_000
# What builds read of a checkout.
SOURCES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSES", "dbtool", "producers")
CARRIED = {"schema": "dbtool/schema", "queries": "dbtool/queries", "data/sample": "dbtool/data"}
PAGE = CHECKOUT / "dbtool" / "explorer" / "page"


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_.-]", requirement)[0].lower().replace("_", "-")


def test_the_measurements_that_ship_stay_within_their_limit():
    files = [path for path in (CHECKOUT / "data").rglob("*") if "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files if path.is_file()) <= MOST_DATA_BYTES


def test_versions_agree():
    citation = (CHECKOUT / "CITATION.cff").read_text()
    assert f"\nversion: {dbtool.__version__}\n" in citation


def test_everything_required_is_pinned_by_its_version_alone():
    lines = (CHECKOUT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", pin) for pin in pins)
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = (*project["dependencies"], *extras["train"], *extras["dev"], *extras["docs"])
    required = {name_of(each) for each in listed}
    assert required <= {name_of(pin) for pin in pins}


def test_the_explorers_packages_are_pinned_run_on_its_node_and_their_lock_names_no_server():
    package = json.loads((PAGE / "package.json").read_text())
    wanted = package["dependencies"] | package["devDependencies"]
    lock = (PAGE / "package-lock.json").read_text()
    assert "://" not in lock
    locked = json.loads(lock)["packages"]
    held = {name: locked[f"node_modules/{name}"]["version"] for name in wanted}
    assert held == wanted
    assert all(each["integrity"] for path, each in locked.items() if path)
    needs = [each["engines"]["node"] for each in locked.values() if "engines" in each]
    least = {tuple(map(int, re.findall(r"\d+", need))) for need in needs}
    assert f"{max(least)[0]}" == package["engines"]["node"].removeprefix(">=") == "18"


@needs_explorer
def test_the_explorers_application_carries_the_licences_of_what_it_uses():
    locked = json.loads((PAGE / "package-lock.json").read_text())["packages"]
    notices = (BUILT / "notices.txt").read_text(encoding="utf-8")
    used = re.findall(r"^(@?[\w./-]+) ([\d.]+) \([A-Z]", notices, re.MULTILINE)
    assert all(locked[f"node_modules/{name}"]["version"] == version for name, version in used)
    assert notices.lower().count("permission") >= len(used)
    # Within HTML a script ends at the first of these.
    assert not re.search("<!--|</script", (BUILT / "explorer.js").read_text(encoding="utf-8"))


def test_makefile_says_what_it_can_do():
    done = subprocess.run(
        ["make", "help"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    listed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("make ")}
    assert {"explorer", "figures", "test", "lint", "test-slow", "wheel", "clean", "help"} <= listed


def test_make_names_what_is_missing_without_a_python(tmp_path):
    shutil.copy(CHECKOUT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("make", "sh", "touch", "rm"):
        found = shutil.which(name)
        assert found is not None
        (commands / name).symlink_to(found)
    done = subprocess.run(
        ["make", "test"],
        cwd=tmp_path,
        env={"PATH": str(commands)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no Python 3.11 or newer found: install one, or name it" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.slow
def test_the_page_of_a_distribution_is_that_of_its_sources(tmp_path):
    checkout, commands, built = (tmp_path / name for name in ("checkout", "commands", "dist"))
    source = checkout / "dbtool" / "explorer" / "page" / "src" / "app.tsx"
    folders = (source.parent, commands, *(checkout / each for each in ("schema", "queries")))
    for folder in (*folders, checkout / "producers"):
        folder.mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "dbtool/__init__.py"):
        shutil.copy(CHECKOUT / name, checkout / name)
    # An npm that copies, or fails.
    npm = commands / "npm"
    npm.write_text(
        '#!/bin/sh\n[ -z "$BROKEN" ] || { echo "npm ERR! $BROKEN" >&2; exit 1; }\n'
        '[ "$1" = ci ] || { mkdir -p ../built; cp src/app.tsx ../built/notices.txt; }\n'
    )
    npm.chmod(0o755)
    hatchling = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "h")]
    subprocess.run([*hatchling, "hatchling"], check=True)

    def build(kind: str, broken: str = "") -> Any:
        call = f"import hatchling.build as build; build.build_{kind}({str(built)!r})"
        path = os.pathsep.join((str(commands), os.environ["PATH"]))
        environment = {"PYTHONPATH": str(tmp_path / "h"), "PATH": path, "BROKEN": broken}
        return run_python("-c", call, cwd=checkout, env=os.environ | environment)

    def page() -> str | None:
        (wheel,) = built.glob("*.whl")
        name = "dbtool/explorer/built/notices.txt"
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(name).decode() if name in archive.namelist() else None

    source.write_text("first")
    assert (build("wheel").returncode, page()) == (0, "first")
    # Nothing changed: npm is not asked.
    assert (build("sdist", "no registry").returncode, page()) == (0, "first")
    source.write_text("second")
    warned = build("wheel", "no registry")
    assert (warned.returncode, page()) == (0, None)
    assert "the wheel has no page for `dbtool explore`: `npm ci`, which needs" in warned.stderr
    assert "npm ERR! no registry" in warned.stderr
    failed = build("sdist", "no registry")
    assert failed.returncode == 1
    assert "a source distribution has the explorer's page, but `npm ci`" in failed.stderr
    assert (build("wheel").returncode, page()) == (0, "second")


@pytest.mark.slow
def test_wheel_holds_what_it_needs(tmp_path):
    checkout = tmp_path / "checkout"
    sample = checkout / "data" / "sample" / "replication_evaluations"
    sample.mkdir(parents=True)
    (sample / "manifest.json").write_text("{}")
    unwanted = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in (*SOURCES, *CARRIED):
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, checkout / name, ignore=unwanted, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, checkout)
    built = tmp_path / "dist"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(built), str(checkout)], check=True)
    (wheel,) = built.glob("*.whl")
    assert wheel.stat().st_size < MOST_WHEEL_BYTES
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        archive.extractall(tmp_path / "installed")
    folders = {"dbtool": "dbtool", "producers": "producers", **CARRIED}
    expected = {
        f"{folder}/{path.relative_to(checkout / name).as_posix()}"
        for name, folder in folders.items()
        for path in (checkout / name).rglob("*")
        if path.is_file() and "explorer/page/" not in path.as_posix()
    }
    assert held == expected
    assert {"dbtool/py.typed", "producers/py.typed", "dbtool/schema/views.sql"} <= held
    write_release(tmp_path / "release")
    installed = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    words = ("sql", "summary", "--db", tmp_path / "release")
    done = run_python("-m", "dbtool", *words, cwd=tmp_path, env=installed)
    assert "  made_up/simple_cnn_base/nesterov_momentum  " in done.stdout
