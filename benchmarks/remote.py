"""What the headline queries fetch of a release on a server: requests, bytes, and shares.

Run `python -m benchmarks.remote RELEASE`; a server of its own in this process logs what it sends.
Each question is asked with an empty cache, and what opening the release takes is a row of its own.
For a replica at a stated scale:

    python -m benchmarks.replica --out replica.tar --share 0.1
    dbtool import replica.tar --db releases
    python -m benchmarks.remote releases/published
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dbtool
from dbtool.core.manifest import read_manifest
from tests.support.release_server import serving_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.release_server import ReleaseServer

OPENING = "opening the release"
QUESTIONS = {
    "steps to result of one workload": "FROM steps_to_result(NULL, $workload, NULL, NULL, 100)",
    "steps to result of all workloads": "FROM steps_to_result(NULL, NULL, NULL, NULL, 100)",
    "one trial's curve": (
        "SELECT step, val_classification_error FROM measurements WHERE workload = $workload "
        "AND batch_size = $batch_size AND trial_id = $trial_id ORDER BY step"
    ),
    "one study's measurements": (
        "FROM measurements WHERE workload = $workload AND batch_size = $batch_size"
    ),
    "how many trials there are": "SELECT count(*) FROM trials",
}
# The study in the middle of all that have a COMPLETE trial.
STUDY = """
SELECT workload, batch_size, min(trial_id) AS trial_id
FROM trials
WHERE status = 'COMPLETE'
GROUP BY ALL
ORDER BY ALL
"""


def main() -> None:
    """Prints a row a question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("release", type=Path, help="a release folder")
    folder = parser.parse_args().release
    manifest = read_manifest(folder)
    total = sum(file.bytes for file in manifest.files)
    print(
        f"{sum(file.rows or 0 for file in manifest.shards):,} measurements, {total / 1e6:,.1f} MB"
    )
    print(f"{'':36s}{'requests':>10s}{'kB':>10s}{'share':>9s}{'seconds':>9s}")
    with dbtool.open(folder) as db:
        studies = db.sql(STUDY).rows()
    values = dict(
        zip(("workload", "batch_size", "trial_id"), studies[len(studies) // 2], strict=True)
    )
    with serving_release(folder) as server:
        for name, query in {OPENING: "", **QUESTIONS}.items():
            with tempfile.TemporaryDirectory() as cache:
                os.environ["XDG_CACHE_HOME"] = cache
                seconds, sent = _asked(server, query, values)
            print(
                f"{name:36s}{len(sent):10,}{sum(sent) / 1e3:10,.0f}{sum(sent) / total:9.2%}"
                f"{seconds:9.2f}"
            )


def _asked(server: ReleaseServer, query: str, values: Mapping[str, Any]) -> tuple[float, list[int]]:
    """The seconds that a query takes, or opening where there is none, and the bytes of replies."""
    server.sent.clear()
    started = time.perf_counter()
    with dbtool.open(server.url) as db:
        if query:
            server.sent.clear()
            started = time.perf_counter()
            named = {name: value for name, value in values.items() if f"${name}" in query}
            db.sql(query, **named).rows()
        return time.perf_counter() - started, [each.bytes for each in server.sent]


if __name__ == "__main__":
    main()
