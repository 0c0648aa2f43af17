"""Programs that one process has compiled and the next one takes."""

import os
import subprocess
import sys
from pathlib import Path

# Compiles a program, and prints how often JAX found one in its cache and how often it did not.
COMPILE = """
import sys
import jax
from producers.devices import keep_compiled

events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
keep_compiled(sys.argv[1])
jax.jit(lambda x: x + 1)(jax.numpy.zeros(3))
print(*(sum(event.endswith(f"cache_{end}") for event in events) for end in ("hits", "misses")))
"""


def compile_for(backend: str, home: Path, **environment: str) -> tuple[int, int]:
    """Programs found and not found by a process of a user whose cache is there."""
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", COMPILE, backend],
        env=os.environ | {"XDG_CACHE_HOME": str(home)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stderr == ""
    hits, misses = map(int, process.stdout.split())
    return hits, misses


def test_a_second_process_compiles_nothing_anew(tmp_path: Path) -> None:
    hits, programs = compile_for("gpu", tmp_path)
    assert hits == 0
    assert programs > 0
    assert compile_for("gpu", tmp_path) == (programs, 0)
    assert len([*tmp_path.glob("dbtool/compiled/*-cache")]) == programs


def test_programs_for_cpus_are_not_kept(tmp_path: Path) -> None:
    compile_for("cpu", tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_jax_is_told_of_stays(tmp_path: Path) -> None:
    told = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "told"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    _, programs = compile_for("cpu", tmp_path, **told)
    assert compile_for("gpu", tmp_path, **told) == (programs, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["told"]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "dbtool").write_text("no folder")
    assert compile_for("gpu", tmp_path)[0] == 0
