"""Programs that one process has compiled and the next one takes."""

import os
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from producers.devices import keep_compiled
from tests.support.programs import run_python

# Compiles a program, and prints how often JAX found one in its cache and how often it did not.
COMPILE = """
import jax
from producers.devices import keep_compiled

events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
keep_compiled("gpu")
jax.jit(lambda x: x + 1)(jax.numpy.zeros(3))
print(*(sum(event.endswith(f"cache_{end}") for event in events) for end in ("hits", "misses")))
"""


def found_and_not_found(home: Path) -> tuple[int, int]:
    """Programs that a process of a user whose cache is there finds, and does not."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "JAX_"}
    environment["XDG_CACHE_HOME"] = str(home)
    process = run_python("-W", "error", "-c", COMPILE, env=environment)
    assert (process.returncode, process.stderr) == (0, "")
    hits, misses = map(int, process.stdout.split())
    return hits, misses


def test_a_second_process_compiles_nothing_anew(tmp_path):
    hits, programs = found_and_not_found(tmp_path)
    assert hits == 0
    assert programs > 0
    assert found_and_not_found(tmp_path) == (programs, 0)
    assert len([*tmp_path.glob("dbtool/compiled/*-cache")]) == programs


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's cache, and JAX as if it were told of no folder."""
    names = ["jax_compilation_cache_dir", "jax_compilation_cache_max_size"]
    names.append("jax_persistent_cache_min_compile_time_secs")
    before = {name: jax.config.values[name] for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)


def cache_after_keeping(backend: str) -> str | None:
    keep_compiled(backend)
    folder: str | None = jax.config.values["jax_compilation_cache_dir"]
    return folder


def test_programs_for_cpus_are_not_kept(home):
    assert cache_after_keeping("cpu") is None
    assert [*home.iterdir()] == []
    assert cache_after_keeping("gpu") == str(home / "dbtool" / "compiled")


def test_a_folder_that_jax_is_told_of_stays(home):
    jax.config.update("jax_compilation_cache_dir", str(home / "told"))
    assert cache_after_keeping("gpu") == str(home / "told")
    assert [*home.iterdir()] == []


def test_a_cache_that_cannot_be_written_is_done_without(home):
    (home / "dbtool").write_text("no folder")
    assert cache_after_keeping("gpu") is None
