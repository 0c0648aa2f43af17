"""How fast a sweep trains, in --watch and in the trace of --profile."""

import gzip
import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from producers.cli.speed import Pace
from tests.dbtool.cli.conftest import Call
from tests.support.sweeps import WORKLOAD, in_place_of_mnist, produced

# Several calls, each of which is at most 1,024 steps.
WORDS = (WORKLOAD, "--batch-sizes", "8", "--trials", "2", "--steps", "4000")


def test_pace_is_of_all_calls_but_the_first() -> None:
    pace = Pace()
    pace.on_waited(9.0)
    assert pace.line() is None
    pace.on_steps(1)
    assert pace.line() is None
    began = time.monotonic()
    time.sleep(0.2)
    pace.on_waited(0.1)
    pace.on_steps(2)
    elapsed = time.monotonic() - began
    found = re.fullmatch(
        r"([\d.]+) ms a trial-step, (\d+)% of it waiting for examples", pace.line() or ""
    )
    assert found
    assert 99 <= float(found[1]) <= 1000 * elapsed / 2 + 1
    assert 100 * 0.1 / elapsed - 1 <= int(found[2]) <= 50


@pytest.mark.slow
def test_a_trace_has_calls_and_no_compilation(made_up_mnist: Path, tmp_path: Path) -> None:
    words = (*WORDS, *in_place_of_mnist(made_up_mnist), "--out", tmp_path / "out")
    folder = tmp_path / "new" / "trace"
    said = produced(*words, "--watch", "--profile", folder)
    assert f"wrote a trace into {folder}\n" in said
    assert re.search(r"\n +[\d.]+ ms a trial-step, 0% of it waiting for examples\n", said)
    (file,) = folder.rglob("*.trace.json.gz")
    names = Counter(
        str(event.get("name"))
        for event in json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    )
    calls = [count for name, count in names.items() if re.fullmatch(r"\$run.py:\d+ advance", name)]
    assert calls == [2]
    assert names["PjitFunction(_advance_device)"] > 0
    assert not [name for name in names if "backend_compile" in name]


def test_a_trace_that_cannot_be_written_is_refused_first(
    call: Call, made_up_mnist: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    words = (*WORDS, *in_place_of_mnist(made_up_mnist), "--out", str(tmp_path / "out"))
    profile = ("produce", *words, "--profile", str(file))
    assert call(*profile).sentence(2) == (
        f"dbtool: cannot write into {file}: it is a file; choose another folder with --profile\n"
    )
    assert not (tmp_path / "out").exists()
    assert "leave out one of --profile and --on" in call(*profile, "--on", "ray").sentence(2)
