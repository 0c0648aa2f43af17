from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dbtool.core.errors import DbtoolError
from producers.datasets import Dataset, Examples, ImageForm, Split, load_dataset
from producers.datasets.forms import OPEN_IMAGES_V4
from producers.datasets.streamed import decode
from tests.support.image_files import encoded, picture, write_labels

if TYPE_CHECKING:
    from pathlib import Path

FORM = replace(OPEN_IMAGES_V4, height=12, width=12)
CLASSES = ("/m/0a", "/m/0b", "/m/0c")
SPLITS = {"train": range(1, 8), "validation": range(20, 23), "test": range(30, 34)}


def image(number: int) -> str:
    # Above half of the range, so that no signed number holds it.
    return f"{2**63 + number:016x}"


def labelled(number: int) -> list[tuple[str, str, object]]:
    """Each image shows one class, and is said to lack the next; nobody speaks of the third."""
    own, other = CLASSES[number % 3], CLASSES[(number + 1) % 3]
    return [(image(number), own, 1), (image(number), other, 0), (image(number), "/m/zz", 1)]


def target(number: int) -> list[int]:
    return [int(number % 3 == shown) for shown in range(3)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "open_images_v4"
    (folder / "images").mkdir(parents=True)
    (folder / "classes-trainable.txt").write_text("".join(f"{name}\n" for name in CLASSES))
    for split, numbers in SPLITS.items():
        rows = [row for number in numbers for row in labelled(number)]
        write_labels(folder / f"{split}-annotations-human-imagelabels.csv", rows[::-1])
        for number in numbers:
            path = folder / "images" / f"{image(number)}.jpg"
            path.write_bytes(encoded(picture(number)))
    (folder / "images" / "LICENSE").touch()
    return folder


def load(folder: Path) -> Dataset:
    return load_dataset("open_images_v4", form=FORM, folder=folder)


def read(examples: Examples) -> Split:
    assert not isinstance(examples, Split)
    return examples.read(np.arange(len(examples)), None)


def numbers(split: Split) -> list[int]:
    """The numbers of the images, told by their pixels."""
    of = {
        decode(encoded(picture(number)), "x", FORM).tobytes(): number
        for numbers in SPLITS.values()
        for number in numbers
    }
    return [of[pixels.tobytes()] for pixels in split.inputs]


def test_images_come_with_the_classes_that_people_saw(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load(folder)
    for split, of in SPLITS.items():
        examples = read(getattr(data, split))
        assert sorted(numbers(examples)) == list(of)
        assert examples.targets.tolist() == [target(number) for number in numbers(examples)]
        assert examples.targets.dtype == np.uint8
    assert numbers(read(data.test)) == list(SPLITS["test"])
    assert isinstance(data.form, ImageForm)
    assert (data.form.classes, data.form.multi_label) == (3, True)
    assert capsys.readouterr() == ("", "")


def test_known_data_set_is_found_in_the_folder_of_data_sets(folder: Path) -> None:
    known = load_dataset("open_images_v4", form=FORM, datasets_dir=folder.parent)
    assert known.file_hashes == load(folder).file_hashes


@pytest.mark.parametrize("layout", ["images/{split}", "{split}"])
def test_images_and_labels_may_lie_by_split(folder: Path, layout: str) -> None:
    expected = [read(load(folder).train).inputs, read(load(folder).test).inputs]
    for split, of in SPLITS.items():
        folder_of_split = folder / layout.format(split=split)
        folder_of_split.mkdir()
        for number in of:
            (folder / "images" / f"{image(number)}.jpg").rename(
                folder_of_split / f"{image(number)}.jpg"
            )
        labels = folder / f"{split}-annotations-human-imagelabels.csv"
        (folder / split).mkdir(exist_ok=True)
        labels.rename(folder / split / f"{split}-annotations-human-imagelabels-boxable.csv")
    data = load(folder)
    for found, wanted in zip((data.train, data.test), expected, strict=True):
        np.testing.assert_array_equal(read(found).inputs, wanted)


def test_missing_images_are_left_out_and_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (2, 5):
        (folder / "images" / f"{image(number)}.jpg").unlink()
    data = load(folder)
    labels = folder / "train-annotations-human-imagelabels.csv"
    assert capsys.readouterr() == (
        "",
        f"{labels}: left out 2 of 7 images, which are not in {folder / 'images'}\n",
    )
    examples = read(data.train)
    assert sorted(numbers(examples)) == [1, 3, 4, 6, 7]
    assert examples.targets.tolist() == [target(number) for number in numbers(examples)]


def test_contradicting_labels_and_images_without_a_class_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = folder / "test-annotations-human-imagelabels.csv"
    rows = [row for number in SPLITS["test"] for row in labelled(number)]
    rows = [(name, label, 0 if name == image(31) else value) for name, label, value in rows]
    write_labels(labels, [*rows, (image(30), CLASSES[0], 0), (image(30), CLASSES[2], 1)])
    test = read(load(folder).test)
    assert numbers(test) == [30, 32, 33]
    assert test.targets[0].tolist() == [0, 0, 1]
    assert capsys.readouterr().err == (
        f"{labels}: left out 1 labels that are said to be both there and not there\n"
    )


def test_data_sets_that_lack_something_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "test-annotations-human-imagelabels.csv").rename(tmp_path / "kept")
    with pytest.raises(DbtoolError, match=r"holds no test-annotations-human-imagelabels\.csv; get"):
        load(folder)
    write_labels(folder / "test-annotations-human-imagelabels.csv", [(image(99), "/m/0a", 1)])
    with pytest.raises(DbtoolError, match=r"none of the 1 images that .* labels are in .*/images"):
        load(folder)
    shutil.rmtree(folder / "images")
    with pytest.raises(DbtoolError, match=r"none of the 7 images that .*train-annotations"):
        load(folder)


def test_splits_that_share_images_are_refused(folder: Path) -> None:
    rows = [row for number in (20, 1, 3) for row in labelled(number)]
    write_labels(folder / "validation-annotations-human-imagelabels.csv", rows)
    with pytest.raises(DbtoolError) as caught:
        load(folder)
    assert str(caught.value) == (
        f"{folder} labels 2 images both in train and in validation, first {image(1)}; replace the"
        " label files by the official ones"
    )


def test_list_of_all_classes_must_have_every_label(folder: Path) -> None:
    names = [*CLASSES, "/m/zz"]
    descriptions = "".join(f'{name},"Name, of {name}"\n' for name in names)
    (folder / "classes-trainable.txt").unlink()
    (folder / "class-descriptions.csv").write_text(descriptions)
    data = load(folder)
    assert read(data.test).targets[0].tolist() == [1, 0, 0, 1]
    (folder / "class-descriptions.csv").write_text(descriptions.replace("/m/zz", "/m/yy"))
    with pytest.raises(DbtoolError, match="holds the class '/m/zz', which is not in the list of"):
        load(folder)


def test_damaged_and_vanished_images_are_named(folder: Path) -> None:
    path = folder / "images" / f"{image(31)}.jpg"
    path.write_bytes(path.read_bytes()[:300])
    data = load(folder)
    with pytest.raises(DbtoolError, match=f"^{path} is a damaged image"):
        read(data.test)
    path.unlink()
    with pytest.raises(DbtoolError, match=f"^{path} cannot be read: No such file"):
        read(data.test)
