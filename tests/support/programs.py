"""Programs that tests run in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


def run_python(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """What Python prints that is started with some words, as text, and its exit code."""
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    return subprocess.run([sys.executable, *map(str, words)], check=False, **options)


def start_program(name: str, *words: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Starts a program of tests/support with some words; its outputs come as one."""
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.support.{name}", *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
