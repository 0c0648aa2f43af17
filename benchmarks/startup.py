"""How fast the command line answers, as ratios measured in one run.

Run `python -m benchmarks.startup` from an environment with dbtool installed. Each command is a
process of its own, run several times in turn with the ones it is compared with.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 9


def main() -> None:
    """Prints the median time of each command and its ratio to the start of Python with Typer."""
    dbtool = shutil.which("dbtool", path=str(Path(sys.executable).parent)) or "dbtool"
    with tempfile.TemporaryDirectory() as folder:
        cache = {"XDG_CACHE_HOME": folder, "XDG_DATA_HOME": folder, "HOME": folder}
        commands = {
            "python -c 'import typer'": [sys.executable, "-c", "import typer"],
            "dbtool --help": [dbtool, "--help"],
            'dbtool sql "select 1"': [dbtool, "sql", "select 1"],
            "dbtool steps (one workload)": [dbtool, "steps", "mnist/fc_64_64_64/sgd"],
            "dbtool scaling (one workload)": [dbtool, "scaling", "mnist/fc_64_64_64/sgd"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for run in range(RUNS + 1):
            for name, command in commands.items():
                started = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True, env=cache)
                if run:  # the first one finds the bundled releases sound, which is remembered
                    seconds[name].append(time.perf_counter() - started)
    base = statistics.median(seconds["python -c 'import typer'"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"{name:30s} {median:6.3f} s  {median / base:5.2f} x")


if __name__ == "__main__":
    main()
