"""Writes a made-up archive in the published format, of the published size unless told otherwise.

Run `python -m benchmarks.replica --out FILE.tar.bz2`. The answers that it holds are written beside
it, as FILE.truth.json. The other benchmarks read such a file.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from tests.replica import published_plans, write_archive
from tests.replica.writer import Layout, Order

LAYOUTS: tuple[Layout, ...] = get_args(Layout)


def main() -> None:
    """Writes the archive and prints what it holds and how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the file or folder to write")
    parser.add_argument("--share", type=float, default=1.0, help="of each study's trials")
    parser.add_argument("--layout", choices=LAYOUTS, help="as the file's name says, else a folder")
    parser.add_argument("--order", choices=get_args(Order), default="sorted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    words = parser.parse_args()
    named = [layout for layout in LAYOUTS if words.out.name.endswith(f".{layout}")]
    layout: Layout = words.layout or (named or ["folder"])[0]
    started = time.perf_counter()
    truth = write_archive(
        words.out,
        studies=published_plans(words.share, seed=words.seed),
        seed=words.seed,
        layout=layout,
        order=words.order,
        processes=words.processes,
    )
    seconds = time.perf_counter() - started
    answers = words.out.with_name(words.out.name.split(".")[0] + ".truth.json")
    answers.write_text(json.dumps(asdict(truth)), encoding="utf-8")
    size = f", {words.out.stat().st_size:,} bytes" if words.out.is_file() else ""
    print(
        f"{len(truth.studies)} studies, {truth.trials:,} trials, "
        f"{truth.measurements:,} measurements{size}, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
