"""What is malformed or hostile is named with its reason, and the rest goes in."""

import bz2
import gzip
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from dbtool.sources import tar_stream
from tests.support.archives import (
    HEADER,
    LINES,
    STUDY,
    imported,
    metadata_json,
    small_study,
    study_json,
    trial,
    write_folder,
    write_tar,
)

SOUND = small_study(LINES)

WHOLE = "which is not a whole number from 0"
BAD_MEASUREMENTS = {
    "its line 3 has 4 fields, and its header has 3": HEADER + "0,1,1\n1,2,3,4\n",
    "its line 2 has 'lost', which is not a number": HEADER + "0,lost,1\n",
    "its line 3 has '1_000', which is not a number": HEADER + "0,1,1\n1,1_000,1\n",
    f"its line 2 has the step '', {WHOLE}": HEADER + ",1,1\n",
    f"its line 2 has the step '1.5', {WHOLE}": HEADER + "1.5,1,1\n",
    f"its line 3 has the step '-1', {WHOLE}": HEADER + "0,1,1\n-1,1,1\n",
    f"its line 2 has the step '9223372036854775808', {WHOLE}": HEADER + f"{2**63},1,1\n",
    "it has a measurement at step 11, after the trial's last, 10": HEADER + "0,1,1\n11,1,1\n",
    "its header has no column step": "epoch,val/classification_error\n0,1\n",
    "its header has the column step twice": "step,step\n0,1\n",
    "its header has the column status, which is not a metric's name": "step,status\n0,1\n",
    "its header has a column without a name": "step,\n0,1\n",
    "its header is not readable as CSV": 'step,"a"b\n0,1\n',
}
INT32, INT64 = f"a whole number from 0 to {2**31 - 1}", "a whole number from 0"
BAD_METADATA = {
    "it is not readable JSON": b"",
    f"trial_id is 2147483648, and should be {INT32}": metadata_json(2**31),
    "its trial_id 3 is not that of its folder, 2": metadata_json(3),
    'status is "DONE", and should be one of COMPLETE, INCOMPLETE, INFEASIBLE': metadata_json(
        2, status="DONE"
    ),
    f"steps is Infinity, and should be {INT64}": metadata_json(2, steps=float("inf")),
    'parameters.learning_rate is "high", and should be a number': metadata_json(
        2, parameters={"momentum": 0.9, "learning_rate": "high"}
    ),
    "it holds a null character": metadata_json(2, parameters={"a\0": 1}),
}
CONFIGS = "parameter_configs"
BAD_STUDY = {
    "it is not readable JSON": b'{"a":' * 100_000,
    "early_stopping is 1, and should be true or false": study_json(early_stopping=1),
    "its batch_size 64 is not that of its folder, 32": study_json(64),
    f"{CONFIGS}.a is 1, and should be a table of names and values": study_json(
        parameter_configs={"a": 1}
    ),
    f"{CONFIGS} has a metaparameter without a name": study_json(parameter_configs=[{}]),
    f"{CONFIGS} names a metaparameter twice": study_json(parameter_configs=[{"name": "a"}] * 2),
    f"{CONFIGS} holds a number that JSON does not have": study_json(
        parameter_configs={"a": {"max_value": float("inf")}}
    ),
}
BAD = [
    *(("2/measurements.csv", why, text.encode()) for why, text in BAD_MEASUREMENTS.items()),
    *(("2/metadata.json", why, body) for why, body in BAD_METADATA.items()),
    *(("study.json", why, body) for why, body in BAD_STUDY.items()),
]


def test_bad_files(importing):
    """Each in a study of its own, of which the other files are sound."""
    files: dict[str, bytes] = {}
    malformed, left = [], []
    for number, (name, reason, body) in enumerate(BAD):
        workload = f"{number:02}/simple_cnn_base/sgd"
        files |= small_study(LINES, LINES, LINES, study=f"{workload}/32")
        files[f"{workload}/32/{name}"] = body
        if name == "study.json":
            malformed.append((f"{workload}/32/{name}", f"{reason}; 3 trials left out"))
        else:
            malformed.append((f"{workload}/32/{name}", reason))
            left += [(workload, 1), (workload, 3)]
    report = importing(files)
    assert sorted((error.path, error.reason) for error in report.malformed) == malformed
    assert (report.trials, report.left_out) == (len(left), len(files) // 7 * 3 - len(left))
    for view in ("trials", "measurements"):
        assert (
            importing.query(f"SELECT DISTINCT workload, trial_id FROM {view} ORDER BY ALL") == left
        )


def test_files_that_are_missing(importing, tmp_path):
    files = small_study(LINES, LINES)
    del files[f"{STUDY}/2/metadata.json"]
    files["a/b/c/8/1/metadata.json"] = metadata_json(1)
    for path in (write_tar(tmp_path / "a.tar", files), write_folder(tmp_path, files)):
        report = importing(path, f"{path.name}.db")
        assert sorted((error.path, error.reason) for error in report.malformed) == [
            ("a/b/c/8/study.json", "it is missing; 1 trial left out"),
            (f"{STUDY}/2", "it has no metadata.json"),
        ]
        assert (report.trials, report.left_out) == (1, 2)


def test_files_out_of_place(importing):
    files = {"study.json": b"{}", "a/b/c/08/study.json": b"{}", "metadata.json": b"{}"}
    report = importing(files | SOUND)
    assert [error.path for error in report.malformed] == [f"batch_science/{name}" for name in files]
    assert report.trials == 1


def test_folders_of_one_trial_id(importing):
    """Of two folders that name one trial, the one of another name is refused."""
    copy = {name.replace("/1/", "/01/"): body for name, body in trial(1).items()}
    report = importing(copy | SOUND)
    [error] = report.malformed
    assert str(error) == f"{STUDY}/01/metadata.json: its trial_id 1 is not that of its folder, 01"
    assert (report.trials, report.left_out) == (1, 1)


def test_a_file_that_is_in_the_archive_twice(importing):
    other = (f"{STUDY}/1/measurements.csv", HEADER.encode())
    report = importing([*SOUND.items(), *SOUND.items(), other])
    [error] = report.malformed
    assert error.path == f"{STUDY}/1/measurements.csv"
    assert "twice" in error.reason
    assert (report.trials, report.measurements) == (1, 2)


def test_archives_of_one_trial_id(importing):
    importing(SOUND)
    before = importing.contents()
    report = importing(SOUND | trial(1, LINES + "7,1,1\n"))
    assert [str(error) for error in report.malformed] == [
        f"{STUDY}/1: the release holds this trial already, with other contents"
    ]
    [error] = importing(SOUND | {f"{STUDY}/study.json": study_json(train_steps=7)}).malformed
    assert "it differs from the stored study in train_steps (7, there 10)" in error.reason
    assert importing.contents() == before


def test_names_that_no_release_takes(importing):
    """A workload's name that is too long for a folder leaves its study out, and no other."""
    long = f"{'d' * 90}/{'m' * 90}/{'o' * 90}/8"
    report = importing(small_study(LINES, study=long) | SOUND)
    [error] = report.malformed
    assert (error.path, "is too long" in error.reason) == (long, True)
    assert (report.trials, report.left_out) == (1, 1)


OUT = "its path leads out of the archive, or has a backslash"
LINK, OTHER = "it is a link", "it is neither a file nor a folder"
HOSTILE: list[tuple[str, str, dict[str, Any]]] = [
    ("/batch_science/a/b/c/1/study.json", OUT, {}),
    ("batch_science/../../a/b/c/1/study.json", OUT, {}),
    ("batch_science\\..\\study.json", OUT, {}),
    ("batch_science/soft", LINK, {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
    ("batch_science/hard", LINK, {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}),
    ("batch_science/device", OTHER, {"type": tarfile.CHRTYPE}),
    ("batch_science/pipe", OTHER, {"type": tarfile.FIFOTYPE}),
    ("batch_science/odd", OTHER, {"type": b"Q"}),
    (
        "batch_science/sparse",
        "it is a sparse file, which can claim any size",
        {"pax_headers": {"GNU.sparse.major": "1"}},
    ),
]


def test_hostile_members_are_refused_by_name(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    members = [
        (name, b"x" * 700 if header.get("type", b"Q") == b"Q" else b"", header)
        for name, _, header in HOSTILE
    ]
    write_tar(here / "a.tar", SOUND, first=members)
    report = imported(here / "a.tar", here / "db")
    found = [(error.path, error.reason) for error in report.malformed]
    assert found == [(name, reason) for name, reason, _ in HOSTILE]
    assert report.trials == 1
    assert sorted(path.name for path in here.iterdir()) == ["a.tar", "db"]
    assert list(tmp_path.iterdir()) == [here]


def claiming(start: Path, size: int, name: str) -> bytes:
    """A tar file without its end mark, and after it a header that claims so many bytes."""
    whole = start.read_bytes().rstrip(b"\0")
    info = tarfile.TarInfo(name)
    info.size = size
    return whole + bytes(-len(whole) % 512) + info.tobuf(tarfile.GNU_FORMAT)


def test_petabytes_are_refused_by_name(importing, tmp_path):
    name = "batch_science/a/b/c/1/2/measurements.csv"
    start = write_tar(tmp_path / "a.tar", small_study(LINES, study="a/b/c/1"))
    failure = importing.failure(bz2.compress(claiming(start, 1 << 50, name)))
    assert failure.path == name
    assert "claims 1,125,899,906,842,624 bytes" in failure.reason


def test_a_large_file_is_passed_over_by_name(importing, tmp_path):
    files = SOUND | {f"{STUDY}/2/metadata.json": b" " * (16 << 20) + b"{}"}
    for path in (write_tar(tmp_path / "a.tar", files), write_folder(tmp_path / "folder", files)):
        report = importing(path, f"{path.name}.db")
        assert report.malformed[0].path.endswith(f"{STUDY}/2/metadata.json")
        assert "claims 16,777,218 bytes" in report.malformed[0].reason
        assert report.trials == 1


@pytest.mark.parametrize(
    ("kind", "body"), [(tarfile.GNUTYPE_LONGNAME, b"a/b\0"), (tarfile.XHDTYPE, b"12 path=abc\n")]
)
def test_a_long_chain_of_names_is_damage(importing, tmp_path, kind, body):
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, len(body)
    link = info.tobuf(tarfile.GNU_FORMAT) + body.ljust(512, b"\0")
    whole = write_tar(tmp_path / "a.tar", SOUND).read_bytes().rstrip(b"\0")
    whole += bytes(-len(whole) % 512)
    assert "it is damaged" in importing.failure(bz2.compress(whole + 3_000 * link)).reason


@pytest.mark.parametrize("compress", [bz2.compress, gzip.compress])
def test_bombs_are_refused_by_name(importing, tmp_path, compress, monkeypatch):
    monkeypatch.setattr(tar_stream, "_HARMLESS", 16 << 20)
    bomb = claiming(write_tar(tmp_path / "a.tar", SOUND), 1 << 34, "zeros.bin") + bytes(64 << 20)
    failure = importing.failure(compress(bomb))
    assert failure.path == "zeros.bin"
    assert "it is a bomb" in failure.reason


def test_hostile_folders(importing, tmp_path):
    root = write_folder(tmp_path / "folder", SOUND | small_study(LINES, study="a/b/c/1"))
    secret = tmp_path / "secret.json"
    secret.write_bytes(study_json(1))
    (root / "a/b/c/1/study.json").unlink()
    (root / "a/b/c/1/study.json").symlink_to(secret)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    (root / "deep").mkdir()
    report = importing(root)
    assert {(error.path, error.reason) for error in report.malformed} == {
        ("batch_science/a/b/c/1/study.json", LINK),
        ("batch_science/loop", LINK),
        ("batch_science/pipe", OTHER),
        ("a/b/c/1/study.json", "it is missing; 1 trial left out"),
    }
    assert report.trials == 1


def test_names_cannot_move_the_cursor(importing, tmp_path):
    odd = "\x1b[2J\n\u202e/study.json"
    path = write_tar(tmp_path / "a.tar", {}, first=[(odd, b"{}", {})])
    [error] = importing(path).malformed
    assert str(error).startswith("\\x1b[2J\\n\\u202e/study.json: ")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_archives_that_were_cut_short(importing, tmp_path, compress):
    path = write_tar(tmp_path / "a.tar", small_study(*[LINES] * 20))
    whole = compress(path.read_bytes().rstrip(b"\0"))
    for share in (0.1, 0.9):
        failure = importing.failure(whole[: int(len(whole) * share)])
        assert failure.path == str(path)
        assert "cut short" in failure.reason or "it is not an archive" in failure.reason


@pytest.mark.parametrize("body", [b"", b"hello", b"BZh9", b"\x1f\x8b"])
def test_what_is_no_archive(importing, tmp_path, body):
    assert importing.failure(body).path == str(tmp_path / "a.tar")


def test_a_damaged_header_ends_the_work(importing, tmp_path):
    whole = bytearray(write_tar(tmp_path / "a.tar", small_study(LINES, LINES)).read_bytes())
    whole[1024 + 2] ^= 1
    assert importing.failure(bytes(whole)).reason.startswith("it is damaged after batch_science/")
