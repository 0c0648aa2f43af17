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


def start_python(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Python, started with some words and left running; its outputs are text."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([sys.executable, *map(str, words)], **options)


def start_program(name: str, *words: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Starts a program of tests/support with some words; its outputs come as one."""
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)} | environment
    name = f"tests.support.{name}"
    return start_python("-m", name, *words, env=environment, stderr=subprocess.STDOUT)
