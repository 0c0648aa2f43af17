"""Medians of MLPerf's results as the database tells them, and as the lines of the logs do.

The counting here shares no code with the project. The logs lie beside the checkout where they are
there at all.
"""

import json
import math
import re
import shutil
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dbtool

ATLAS = Path(__file__).parents[4] / "shared" / "atlas"
LOG = re.compile(r"(training|hpc)_results_v([\d.]+)/.*/result_\w+\.txt$")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ATLAS.is_dir(), reason="the public logs are not beside the checkout"),
]

# Of each source what lies in the folder.
SOURCES = {
    "mlperf": "mlperf_logs.tar.xz",
    "mlperf-reference": "mlperf_rcp",
    "opda": "opda",
    "modded-nanogpt": "modded_nanogpt",
    "w2v2-batch-size": "w2v2",
}
DOCS = Path(__file__).parents[3] / "docs"
Lines = dict[str, list[tuple[Any, dict[str, Any], float]]]


def by_samples(_lines: Lines, metadata: dict[str, Any]) -> float:
    return float(metadata["samples_count"])


def by_epochs(lines: Lines, metadata: dict[str, Any]) -> float:
    return float(metadata["epoch_num"]) * float(lines["train_samples"][0][0])


def by_bert(lines: Lines, metadata: dict[str, Any]) -> float:
    place = float(metadata["epoch_num"])
    return place if place >= 1_000 else float(lines["train_samples"][0][0])


# What logs call it, rounds, workload, whether a value is at the target, and examples until there.
BENCHMARKS: dict[str, tuple[float, float, str, Callable[[float], bool], Any]] = {
    "resnet": (0.7, 4.0, "mlperf/resnet_50/v0.6-v4.0", lambda v: v >= 0.759, by_epochs),
    "bert": (1.0, 5.1, "mlperf/bert/v1.0-v5.1", lambda v: v >= 0.72, by_bert),
    "llama31_8b": (5.1, 6.1, "mlperf/llama31_8b/v5.1-v6.1", lambda v: v <= 3.3, by_samples),
    "llama31_405b": (5.0, 6.0, "mlperf/llama31_405b/v5.0-v6.0", lambda v: v <= 5.6, by_samples),
    "flux1": (5.1, 6.1, "mlperf/flux1/v5.1-v6.1", lambda v: v <= 0.586, by_samples),
}


def lines_of(text: str) -> Lines:
    lines: Lines = defaultdict(list)
    for line in text.splitlines():
        if ":::MLLOG" in line:
            event = json.loads(line.partition(":::MLLOG")[2])
            lines[event["key"]].append(
                (event["value"], event["metadata"] or {}, event.get("time_ms", 0))
            )
    return lines


def steps_of(lines: Lines, benchmark: str) -> float:
    """The first evaluation at the target, in updates."""
    *_, is_past, examples = BENCHMARKS[benchmark]
    batch_size: int = lines["global_batch_size"][0][0]
    passed = [meta for value, meta, _ in lines["eval_accuracy"] if is_past(float(value))]
    if not passed:
        return math.inf
    counted: float = examples(lines, passed[0])
    return math.floor(counted / batch_size + 0.5)


def counted() -> dict[tuple[str, int], list[float]]:
    """The steps of every run of the closed division, each once, by benchmark and batch size."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    seen = set()
    with tarfile.open(ATLAS / "mlperf_logs.tar.xz") as archive:
        for member in archive:
            match = LOG.search(member.name)
            if match is None or match[1] != "training" or float(match[2]) < 0.7:
                continue
            file = archive.extractfile(member)
            assert file is not None
            text = file.read().decode(errors="replace")
            named = re.search(r'"submission_benchmark", "value": "(\w+)"', text)
            if named is None or named[1] not in BENCHMARKS:
                continue
            first, last, *_ = BENCHMARKS[named[1]]
            lines = lines_of(text)
            is_open = lines["submission_division"][0][0].lower() == "open"
            if not first <= float(match[2]) <= last or is_open or not lines["eval_accuracy"]:
                continue
            samples = lines["train_samples"]
            if named[1] == "resnet" and abs(samples[0][0] - 1_281_167) > 5_000:
                continue
            run = tuple((value, at) for value, _, at in lines["eval_accuracy"])
            if run not in seen:
                seen.add(run)
                key = named[1], lines["global_batch_size"][0][0]
                found[key].append(steps_of(lines, named[1]))
    return found


def test_medians_are_what_the_lines_of_the_logs_say(tmp_path):
    dbtool.import_source("mlperf", ATLAS / "mlperf_logs.tar.xz", into=tmp_path)
    expected: dict[str, dict[int, int | None]] = defaultdict(dict)
    for (benchmark, batch_size), steps in counted().items():
        ordered, count = sorted(steps), len(steps)
        middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
        workload = BENCHMARKS[benchmark][2]
        expected[workload][batch_size] = math.ceil(middle) if math.isfinite(middle) else None
    assert sum(map(len, expected.values())) > 100
    with dbtool.open(tmp_path) as database:
        for workload, medians in expected.items():
            found = database.steps(workload).select("batch_size", "steps").rows()
            assert dict(found) == medians, workload


def test_the_page_has_what_its_commands_print(tmp_path):
    for name, path in SOURCES.items():
        dbtool.import_source(name, ATLAS / path, into=tmp_path / "db")
    page = Path(shutil.copy(DOCS / "atlas.md", tmp_path))
    words = [sys.executable, str(DOCS / "tables.py"), str(page), "--db", str(tmp_path / "db")]
    subprocess.run(words, check=True)
    assert page.read_text() == (DOCS / "atlas.md").read_text()
