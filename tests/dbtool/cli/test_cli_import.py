"""`dbtool import`: what it prints, how it exits, and its bar on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.replica import published_plans, write_archive
from tests.support.archives import HEADER, LINES, STUDY, small_study, write_folder, write_tar

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call


def test_import_twice(call: Call, tmp_path: Path) -> None:
    files = small_study(LINES, HEADER + "0,nan,\n0,inf,1\n", "")
    path = str(write_tar(tmp_path / "a.tar.bz2", files, "w:bz2"))
    database = str(tmp_path / "new" / "own")
    first = call("import", path, "--db", database, "--release", "own")
    assert (first.code, first.output) == (0, "")
    assert first.errors == (
        "added 1 study with 3 trials and 4 measurements to own; 0 trials already there\n"
        "kept as they are: 1 empty files, 1 missing values, 1 nan, 1 infinite values, "
        "1 repeated steps\n"
    )
    second = call("import", path, "--db", database, "--release", "own")
    assert (second.code, second.errors) == (
        0,
        "added 0 studies with 0 trials and 0 measurements to own; 3 trials already there\n",
    )
    found = call("sql", "SELECT count(*) AS n FROM measurements", "--db", database)
    assert found.output.split()[-1] == "4"


def test_what_is_left_out_is_listed(call: Call, tmp_path: Path) -> None:
    files = small_study(LINES, HEADER + "0,x,1\n")
    folder = str(write_folder(tmp_path, files))
    outcome = call("import", folder, "--db", str(tmp_path / "db"))
    assert (outcome.code, outcome.output) == (1, "")
    refused, added, *_, sentence = outcome.errors.splitlines()
    assert refused == (
        f"left out {STUDY}/2/measurements.csv: its line 2 has 'x', which is not a number"
    )
    assert added.startswith("added 1 study with 1 trial and 2 measurements to published")
    assert sentence.startswith("dbtool: 1 malformed files are listed above and 1 trials were left")


def test_the_report_holds_the_published_table_against_it(call: Call, tmp_path: Path) -> None:
    plans = [plan for plan in published_plans(1.0, evaluations=24) if plan.batch_size == 65536][:1]
    write_archive(tmp_path / "a.tar", studies=plans, layout="tar")
    outcome = call("import", str(tmp_path / "a.tar"), "--db", str(tmp_path / "db"))
    assert outcome.code == 0
    assert re.search(r"^studies +1 of 454 of the published table$", outcome.errors, re.MULTILINE)
    assert re.search(r"^COMPLETE +\d+ of 108,194 trials$", outcome.errors, re.MULTILINE)
    assert "the database lacks 453 studies: " in outcome.errors
    assert "COMPLETE trials, and" not in outcome.errors


def test_an_archive_that_cannot_be_read_on(call: Call, tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar.bz2", small_study(*[LINES] * 50), "w:bz2")
    path.write_bytes(path.read_bytes()[:-100])
    outcome = call("import", str(path), "--db", str(tmp_path / "db"))
    assert outcome.code == 1
    assert outcome.errors.splitlines()[-1].startswith(f"dbtool: {path}: it is damaged or cut short")
