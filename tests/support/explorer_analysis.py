"""Asks the explorer's analysis, in Node, what dbtool's own is asked in Python."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.analysis.critical import FittedCurve
    from dbtool.analysis.learning_rates import RateLaw
    from dbtool.report import ScalingReport

PAGE = Path(__file__).parents[2] / "dbtool/explorer/page"
NODE = shutil.which("node")
ESBUILD = Path(os.environ.get("DBTOOL_ESBUILD", PAGE / "node_modules/.bin/esbuild"))

needs_node = pytest.mark.skipif(
    NODE is None or not ESBUILD.exists(),
    reason="no Node with esbuild: install Node, and run npm ci in dbtool/explorer/page",
)


def answers_of_page(workloads: Sequence[Any], states: Sequence[Any], folder: Path) -> list[Any]:
    """What the page's analysis finds.

    Args:
        workloads: facts of their studies, and columns of their trials and evaluations.
        states: each with the number of a workload and what is asked of it, or with steps.
        folder: for the files of this.
    """
    assert NODE
    script, asked, told = folder / "script.cjs", folder / "asked.cjs", folder / "told.json"
    source = Path(__file__).with_name("analysis_states.ts")
    bundling = [str(ESBUILD), str(source), "--bundle", "--platform=node", f"--outfile={script}"]
    subprocess.run([*bundling, "--log-level=error"], check=True)
    # JavaScript, unlike JSON, has numbers that are not finite, by the names that Python writes.
    asked.write_text(f"module.exports = {json.dumps({'workloads': workloads, 'states': states})}")
    subprocess.run([NODE, script, asked, told], check=True)
    found: list[Any] = json.loads(
        told.read_text(),
        object_hook=lambda each: float(each["number"]) if set(each) == {"number"} else each,
    )
    return found


def as_told(found: ScalingReport) -> dict[str, Any]:
    """What dbtool's analysis found of one workload, as the page's tells it."""
    (answer,) = found.answers
    scaling = answer.scaling
    kinds = ["critical", "steps", "learning_rates"] if found.trials else ["critical", "steps"]
    unnamed = [pl.lit(None).alias(name) for name in ("release", "workload")]
    return {
        "learning_rates": [],
        **{kind: found.rows(kind).with_columns(unnamed).to_dicts() for kind in kinds},
        "crossings": [
            {"after": each.after.tolist(), "steps": each.steps.tolist()} for each in answer.searches
        ],
        "law": _law(scaling.rate_law),
        "curve": _curve(scaling.curve),
        "left_out": list(scaling.left_out),
    }


def differences(found: Any, expected: Any, path: str = "") -> list[str]:
    """Where two nests of rows are not the same: words and counts, and numbers to a millionth."""
    if isinstance(expected, dict):
        if set(found or ()) != set(expected):
            return [f"{path}: {found} instead of {expected}"]
        return [w for k in expected for w in differences(found[k], expected[k], f"{path}.{k}")]
    if isinstance(expected, list | tuple):
        if len(found) != len(expected):
            return [f"{path}: {found} instead of {expected}"]
        pairs = enumerate(zip(found, expected, strict=True))
        return [wrong for at, (a, b) in pairs for wrong in differences(a, b, f"{path}[{at}]")]
    if isinstance(expected, float) and isinstance(found, int | float):
        # Exponents of learning rates may be next to 0.
        same = math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-7 if ".law." in path else 0)
        same |= math.isnan(found) and math.isnan(expected)
    else:
        same = found == expected
    return [] if same else [f"{path}: {found!r} instead of {expected!r}"]


def _law(law: RateLaw | None) -> Any:
    return law and {
        "weights": dict(law.weights),
        "law": law.law,
        "parameter": law.parameter,
        "low": law.low,
        "high": law.high,
        "factor": law.factor,
    }


def _curve(curve: FittedCurve | None) -> Any:
    return curve and {
        "steps": curve.steps,
        "critical": curve.critical,
        "bend": curve.bend.value,
        "allowed": [{"bend": a.bend, "low": a.low, "high": a.high} for a in curve.allowed],
        "reached": list(curve.reached),
    }
