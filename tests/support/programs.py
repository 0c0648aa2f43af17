"""Programs that tests run in a process of their own."""

import subprocess
import sys
from pathlib import Path
from typing import Any


def run_python(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """What Python prints that is started with some words, as text, and its exit code."""
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    return subprocess.run([sys.executable, *map(str, words)], check=False, **options)
