"""What `import_archive` stores, whatever form and order an archive has."""

import math
import tarfile

import pytest

import dbtool
from dbtool.sources.archive import source
from dbtool.sources.archive.published import compared
from tests.replica import plan_study, published_plans, write_archive
from tests.support.archives import (
    HEADER,
    LINES,
    STUDY,
    WORKLOAD,
    add,
    metadata_json,
    small_study,
    trial,
    write_folder,
    write_tar,
)

MNIST = "mnist/simple_cnn_base/sgd"


@pytest.mark.parametrize(
    ("form", "names"),
    [("w:gz", tarfile.GNU_FORMAT), ("w:bz2", tarfile.PAX_FORMAT)],
)
def test_every_row_of_a_tar_file(importing, tmp_path, form, names):
    long = f"{'d' * 70}/{'m' * 70}/{'o' * 70}/8"
    path = tmp_path / "archive"
    with tarfile.open(path, form, format=names) as archive:
        for name, body in (small_study(LINES) | small_study(LINES, study=long)).items():
            # A time with a fraction makes every member an extended header in pax archives.
            add(archive, f"batch_science/{name}", body, mtime=1.5)
    report = importing(path, release="mine")
    assert (report.studies, report.trials, report.measurements) == (2, 2, 4)
    assert report.malformed == []
    assert importing.query(
        "SELECT release, workload, batch_size, trial_id, status, step, train_cross_entropy_error, "
        "val_classification_error, other_metrics FROM measurements "
        f"WHERE workload = '{WORKLOAD}' ORDER BY step"
    ) == [
        ("mine", WORKLOAD, 32, 1, "COMPLETE", 0, 2.302585, 0.9, None),
        ("mine", WORKLOAD, 32, 1, "COMPLETE", 10, 1.5, 0.01, None),
    ]
    assert importing.query("SELECT max(length(workload)) FROM workloads") == [(212,)]


def test_everything_that_is_known_of_a_study(importing):
    points = [{"name": "momentum", "type": "DISCRETE", "feasible_points": [0.5, 0.9]}]
    files = small_study(
        LINES, study=f"{MNIST}/64", train_steps=0, early_stopping=True, parameter_configs=points
    )
    importing(files | small_study(LINES))
    assert importing.query(
        "SELECT * EXCLUDE (search_space, search, stopped) FROM studies ORDER BY ALL"
    ) == [
        ("published", WORKLOAD, 32, 10, False, 1, 0, 0, 2, None),
        ("published", MNIST, 64, 0, True, 1, 0, 0, 2, None),
    ]
    scale_and_type = "search_space->>'$.learning_rate.scale', search_space->>'$.momentum.type'"
    assert importing.query(f"SELECT {scale_and_type} FROM studies ORDER BY batch_size") == [
        ("LOG_SCALE", None),
        (None, "DISCRETE"),
    ]
    # The catalog knows the one, the columns tell what the other can be judged by.
    assert importing.query(
        "SELECT workload, metric, goal, maximize FROM workloads ORDER BY ALL"
    ) == [
        (WORKLOAD, "val_classification_error", None, False),
        (MNIST, "val_classification_error", 0.01, False),
    ]
    [(licence, citation)] = importing.query("SELECT licence, citation FROM releases")
    assert "CC BY 4.0 International license" in licence
    assert citation.startswith("@article{shallue2019measuring,")


def test_any_order_and_layout_gives_the_same_rows(importing, tmp_path):
    plans = [
        plan_study(f"{MNIST}", 2**power, complete=6, incomplete=2, infeasible=2, odd=True)
        for power in range(2)
    ]
    write_archive(tmp_path / "plain", studies=plans, layout="folder")
    importing(tmp_path / "plain")
    path = tmp_path / "shuffled.tar.gz"
    truth = write_archive(path, studies=plans, layout="tar.gz", order="shuffled")
    report = importing(path, "shuffled.db")
    assert (report.trials, report.measurements) == (truth.trials, truth.measurements)
    assert report.malformed == []
    assert importing.contents("shuffled.db") == importing.contents()


@pytest.mark.slow
def test_what_outgrows_memory_comes_back(importing, tmp_path, monkeypatch):
    plans = [plan_study(MNIST, 2**power) for power in range(6)]
    path = tmp_path / "a.tar"
    write_archive(path, studies=plans, layout="tar", order="interleaved")
    importing(path)
    monkeypatch.setattr(source, "_MOST_IN_MEMORY", 20_000)
    report = importing(path, "small.db")
    assert report.malformed == []
    assert importing.contents("small.db") == importing.contents()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tar", "db", "small.db"]


def test_trials_that_come_after_their_study_was_whole(importing, tmp_path):
    # The published study of the fewest trials, and two more that come at the end.
    plan = min(published_plans(evaluations=24), key=lambda each: each.trials)
    write_archive(tmp_path / "folder", studies=[plan], layout="folder")
    root = tmp_path / "folder" / "batch_science"
    files = [(str(file.relative_to(root)), file.read_bytes()) for file in sorted(root.rglob("*.*"))]
    report = importing(files)
    assert not any("in the published table" in each for each in compared(report.folder))
    late = trial(900_000, study=plan.path) | trial(900_001, study=plan.path)
    path = write_tar(tmp_path / "late.tar", [*files, *late.items()])
    with tarfile.open(path, "a") as archive:
        for number in (files[-1][0].split("/")[-2], "900000"):
            add(archive, f"batch_science/{plan.path}/{number}", type=tarfile.DIRTYPE)
    both = importing(path, "late.db")
    assert both.malformed == []
    assert (both.trials, both.studies) == (report.trials + 2, 1)
    added = importing(path)
    assert (added.trials, added.studies, added.already_there) == (2, 0, report.trials)
    assert importing.contents() == importing.contents("late.db")


def test_what_is_odd_is_kept_and_counted(importing):
    odd = HEADER + "0,,nan\n10,inf,-inf\n10,1e-3,.5\n5,NaN,\n"
    files = small_study(odd, "", HEADER, HEADER.rstrip("\n"), "\n\n")
    files[f"{STUDY}/6/metadata.json"] = metadata_json(6, status="INFEASIBLE")
    report = importing(files)
    assert report.malformed == []
    assert report.oddities == {
        "missing values": 2,
        "nan": 2,
        "infinite values": 2,
        "repeated steps": 1,
        "unsorted steps": 1,
        "empty files": 2,
        "files with a header alone": 2,
        "trials without measurements.csv": 1,
    }
    rows = importing.query(
        "SELECT step, train_cross_entropy_error, val_classification_error FROM measurements"
    )
    # Sorted by step; those of one step as in the file.
    assert str(rows) == str(
        [(0, None, math.nan), (5, math.nan, None), (10, math.inf, -math.inf), (10, 0.001, 0.5)]
    )
    assert importing.query("SELECT trial_id, measurements FROM trials ORDER BY ALL") == [
        (1, 4), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0),
    ]  # fmt: skip


def test_numbers_compare_as_the_decimals_that_were_written(importing):
    decimals = ["0.01", "0.010000000000000001", "0.0100000000000001", "0.3", "1e-2", "0.009999"]
    lines = HEADER + "".join(f"{n},{text},{text}\n" for n, text in enumerate(decimals))
    importing(small_study(lines))
    found = importing.query("SELECT train_cross_entropy_error FROM measurements ORDER BY step")
    assert found == [(float(text),) for text in decimals]
    below = importing.query("SELECT step FROM measurements WHERE val_classification_error < 0.01")
    assert below == [(5,)]


def test_unknown_metrics_are_kept(importing):
    files = small_study(LINES)
    files |= trial(2, "step,val/f1,test/cross_entropy_error,extra\n3,0.5,0.25,\n4,,0.125,7\n")
    importing(files)
    assert importing.query(
        "SELECT trial_id, step, test_cross_entropy_error, other_metrics['val/f1'], "
        "other_metrics['extra'] FROM measurements ORDER BY trial_id, step"
    ) == [
        (1, 0, None, None, None),
        (1, 10, None, None, None),
        (2, 3, 0.25, 0.5, None),
        (2, 4, 0.125, None, 7.0),
    ]


def test_report_compares_with_the_published_table(importing, tmp_path):
    report = importing(small_study(LINES) | small_study(LINES, study=f"{MNIST}/64"))
    *lines, lacking, unknown, complete, _, infeasible, other = compared(report.folder)
    counts = [" ".join(line.split()) for line in lines]
    assert counts[:2] == ["studies 1 of 454 of the published table", "COMPLETE 2 of 108,194 trials"]
    assert counts[-2:] == ["all 2 of 194,399 trials", "all 4 measurements"]
    assert lacking.startswith("the database lacks 453 studies: ")
    assert unknown == f"the published table lacks 1 study: {STUDY}"
    assert [complete, infeasible, other] == [
        f"{MNIST}/64 has 1 COMPLETE trial, and 274 in the published table",
        f"{MNIST}/64 has 0 INFEASIBLE trials, and 2 in the published table",
        "published is the authors' release: trials of others need another --release",
    ]
    told: list[str] = []
    dbtool.import_archive(
        tmp_path / "a.tar", tmp_path / "own", release="own", on_message=told.append
    )
    assert told == [
        "added 2 studies with 2 trials and 4 measurements to own; 0 trials already there",
        f"in {tmp_path / 'own' / 'own'}",
    ]


def test_other_files_are_passed_over_and_a_folder_below_the_root_keeps_the_names(
    importing, tmp_path
):
    files = {"README.md": b"hello", f"{STUDY}/._study.json": b"x", f"{STUDY}/1/notes.csv": b"?"}
    root = write_folder(tmp_path, files | small_study(LINES))
    report = importing(root)
    assert (report.malformed, report.trials) == ([], 1)
    importing(root / "made_up", "below.db")
    assert importing.contents("below.db") == importing.contents()
