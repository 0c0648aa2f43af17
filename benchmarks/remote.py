"""What the headline queries fetch of a published release on a server: requests, bytes, and shares.

Run `python -m benchmarks.remote FOLDER` with a folder that `dbtool publish` wrote; a server of its
own in this process logs what it sends. Each question is asked by a new connection, and what opening
the release takes is a row of its own. For a replica at a stated scale:

    python -m benchmarks.replica --out replica.tar --share 0.1
    dbtool import replica.tar --db replica.duckdb
    dbtool publish --db replica.duckdb --out replica
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.store.published.manifest import read_published
from dbtool.store.remote.opening import open_place
from dbtool.store.remote.places import folder_address
from dbtool.store.remote.web import WebPlace
from tests.support.release_server import serving_release

if TYPE_CHECKING:
    import duckdb

OPENING = "opening the release"
QUESTIONS = {
    "steps to result of one workload": "FROM steps_to_result(NULL, $workload, NULL, NULL, 100)",
    "the same for another metric": (
        "FROM steps_to_result(NULL, $workload, 'train_cross_entropy_error', 0.5, 100)"
    ),
    "steps to result of all workloads": "FROM steps_to_result(NULL, NULL, NULL, NULL, 100)",
    "best measurements of all workloads": (
        "FROM best_measurements(NULL, NULL, NULL, NULL, NULL, 100)"
    ),
    "one trial's curve": (
        "SELECT step, val_classification_error FROM measurements WHERE workload = $workload "
        "AND batch_size = $batch_size AND trial_id = $trial_id ORDER BY step"
    ),
    "one study's measurements": (
        "FROM measurements WHERE workload = $workload AND batch_size = $batch_size"
    ),
    "how many measurements there are": "SELECT count(*) FROM measurements",
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
    parser.add_argument("folder", type=Path, help="a folder that `dbtool publish` wrote")
    folder = parser.parse_args().folder
    manifest = read_published(folder)
    total = sum(file.bytes for file in manifest.files)
    print(f"{manifest.rows('measurements'):,} measurements, {total / 1e6:,.1f} MB")
    print(f"{'':36s}{'requests':>10s}{'kB':>10s}{'share':>9s}{'seconds':>9s}")
    with serving_release(folder) as server:
        for name, query in {OPENING: "", **QUESTIONS}.items():
            started = time.perf_counter()
            with open_place(WebPlace(folder_address(server.url))) as connection:
                values = _values(connection, query)
                if query:
                    server.sent.clear()
                    started = time.perf_counter()
                    connection.execute(query, values).fetchall()
            seconds = time.perf_counter() - started
            sent = sum(sent.bytes for sent in server.sent)
            print(
                f"{name:36s}{len(server.sent):10,}{sent / 1e3:10,.0f}{sent / total:9.2%}"
                f"{seconds:9.2f}"
            )
            server.sent.clear()


def _values(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, object]:
    """The values of a query's parameters."""
    studies = connection.execute(STUDY).fetchall()
    found = studies[len(studies) // 2]
    named = dict(zip(("workload", "batch_size", "trial_id"), found, strict=True))
    return {name: value for name, value in named.items() if f"${name}" in query}


if __name__ == "__main__":
    main()
