"""Sweeps whose machines vanish go on elsewhere from the copy that they kept in an object store."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import httpx
import pytest

from dbtool.core.manifest import MANIFEST, read_manifest
from tests.support.kills import wait_until
from tests.support.sweeps import (
    BATCH_SIZE,
    CONSOLE_SCRIPT,
    WORKLOAD,
    assert_same_sweep,
    free_port,
    in_place_of_mnist,
    produce,
    produced,
    refused,
    start_produce,
    statuses,
    told,
)

WORDS = (
    *(WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "4", "--block", "2"),
    *("--steps", "100000", "--release", "tests", "--checkpoint-minutes", "0.1"),
)
PATIENCE = 300.0
needs_s3 = pytest.mark.skipif(
    not os.environ.get("DBTOOL_REQUIRE_S3")
    and None in map(importlib.util.find_spec, ("s3fs", "moto", "flask")),
    reason="needs pip install s3fs 'moto[server]'",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An S3 server of this machine, with a bucket that anybody may read."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("server") / "log"
    words = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output)

    def has_bucket() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.put(f"{address}/bucket").is_success
        return False

    try:
        wait_until(has_bucket, process)
        anybody = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
        policy = {"Statement": [anybody | {"Resource": "arn:aws:s3:::bucket/*"}]}
        httpx.put(f"{address}/bucket?policy", json=policy).raise_for_status()
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["file", pytest.param("s3", marks=needs_s3)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str], str]:
    """The URL to copy to, what reaches it, and where readers find the release."""
    if request.param == "file":
        return f"file://{tmp_path}/store", {}, f"{tmp_path}/store"
    address = request.getfixturevalue("server")
    variables = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    return f"s3://bucket/{tmp_path.name}", variables, f"{address}/bucket/{tmp_path.name}/"


@pytest.fixture(scope="module")
def undisturbed(made_up_mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole sweep, with neither copies nor stops."""
    out: Path = tmp_path_factory.mktemp("undisturbed")
    produced(*WORDS, *in_place_of_mnist(made_up_mnist), "--out", out)
    return out


def there(url: str) -> list[str]:
    """The paths of what lies at a URL."""
    found, root = fsspec.core.url_to_fs(url)
    found.invalidate_cache()
    return sorted(path.removeprefix(root).lstrip("/") for path in found.find(root))


@pytest.mark.slow
def test_a_machine_that_vanishes_is_replaced(
    undisturbed, store, made_up_mnist, tmp_path, monkeypatch
):
    url, variables, address = store
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    words = (*WORDS, *in_place_of_mnist(made_up_mnist), "--copy-to", url, "--out")
    gone, new = tmp_path / "gone", tmp_path / "new"
    process = start_produce(*words, gone)
    # In the second block, of which a checkpoint is there.
    wait_until(lambda: MANIFEST in there(url) and ".sha256" in str(there(url)), process)
    process.kill()
    process.communicate()
    shutil.rmtree(gone)
    digests = [path for path in there(url) if path.endswith(".sha256")]
    assert digests
    for digest in digests:
        assert any(path.startswith(f"{digest.removesuffix('.sha256')}/") for path in there(url))
    process = start_produce(*words, new)
    # From which it goes on.
    wait_until(lambda: all((new / digest).exists() for digest in digests), process)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert_same_sweep(new, undisturbed)
    # The copy is what the release lists, and has no checkpoints any more.
    for path in there(url):
        assert fsspec.open(f"{url}/{path}").open().read() == (new / path).read_bytes()
    assert {*there(url)} == {MANIFEST, *(file.path for file in read_manifest(new).files)}
    rows = ["steps", "*", "--goal", "0.9", "--db", address]
    asked = subprocess.run([CONSOLE_SCRIPT, *rows], capture_output=True, text=True, check=False)
    assert asked.returncode == 0, asked.stderr
    # Nothing is trained again, and another sweep is not mixed with it.
    assert "nothing to train" in produced(*words, tmp_path / "third")
    other = refused(2, *words, tmp_path / "fourth", "--release", "other")
    assert f"{url} holds the release 'tests' and not 'other'" in other


@pytest.mark.slow
def test_a_copy_that_cannot_be_written_is_one_sentence(made_up_mnist, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    sweep = ("--batch-sizes", "8", "--trials", "1", "--steps", "3")
    words = (WORKLOAD, *sweep, *in_place_of_mnist(made_up_mnist), "--out", str(tmp_path / "out"))
    result = produce(*words, "--copy-to", f"file://{in_the_way}/store")
    assert result.returncode == 1, result.stderr
    (sentence,) = (line for line in told(result.stderr) if not line.startswith("trained "))
    assert sentence.startswith(f"dbtool: cannot copy between {tmp_path}/out and file://")
    assert "what was trained is safe here" in sentence
    assert len(statuses(tmp_path / "out")) == 1
    in_the_way.unlink()
    assert "nothing to train" in produced(*words, "--copy-to", f"file://{in_the_way}/store")
    assert len(statuses(in_the_way / "store")) == 1
    for url in ("runs", "nowhere://bucket/runs"):
        sentence = refused(2, *words, "--copy-to", url)
        assert f"--copy-to is {url}, and should be a URL such as s3://" in sentence
    sentence = refused(2, *words[:-1], "s3://bucket/runs")
    assert "--out is s3://bucket/runs, and should be a folder of this machine" in sentence


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("gcsfs") is not None, reason="gcsfs is there, which this lacks"
)
def test_a_library_that_is_missing_is_named(made_up_mnist, tmp_path):
    words = (WORKLOAD, *in_place_of_mnist(made_up_mnist), "--out", str(tmp_path / "out"))
    sentence = refused(1, *words, "--copy-to", "gs://bucket/runs")
    assert "copying to gs:// needs a library that is not installed" in sentence
    assert "[cloud]'" in sentence
    assert not (tmp_path / "out").exists()
