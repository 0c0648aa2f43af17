import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import OPEN_IMAGES_V4, ImageForm
from producers.datasets.open_images import image_id, read_classes, read_labels
from producers.datasets.registry import load_dataset
from producers.datasets.split import Dataset, Split
from producers.datasets.streamed import decode
from tests.support.image_files import encoded, picture, read, write_labels

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


def numbers(split: Split) -> list[int]:
    """The numbers of the images, told by their pixels."""
    of = {
        decode(encoded(picture(number)), "x", FORM).tobytes(): number
        for numbers in SPLITS.values()
        for number in numbers
    }
    return [of[pixels.tobytes()] for pixels in split.inputs]


def test_images_come_with_the_classes_that_people_saw(folder, capsys):
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


@pytest.mark.parametrize("layout", ["images/{split}", "{split}"])
def test_images_and_labels_may_lie_by_split(folder, layout):
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


def test_what_is_missing_contradicts_itself_or_shows_no_class_is_left_out(folder, capsys):
    for number in (2, 5):
        (folder / "images" / f"{image(number)}.jpg").unlink()
    of_train, of_test = (
        folder / f"{split}-annotations-human-imagelabels.csv" for split in ("train", "test")
    )
    rows = [row for number in SPLITS["test"] for row in labelled(number)]
    rows = [(name, label, 0 if name == image(31) else value) for name, label, value in rows]
    write_labels(of_test, [*rows, (image(30), CLASSES[0], 0), (image(30), CLASSES[2], 1)])
    data = load(folder)
    out, told = capsys.readouterr()
    assert out == ""
    assert told == (
        f"{of_train}: left out 2 of 7 images, which are not in {folder / 'images'}\n"
        f"{of_test}: left out 1 labels that are said to be both there and not there\n"
    )
    train, test = read(data.train), read(data.test)
    assert sorted(numbers(train)) == [1, 3, 4, 6, 7]
    assert train.targets.tolist() == [target(number) for number in numbers(train)]
    assert numbers(test) == [30, 32, 33]
    assert test.targets[0].tolist() == [0, 0, 1]


def test_data_sets_that_lack_something_are_refused(folder, tmp_path):
    (folder / "test-annotations-human-imagelabels.csv").rename(tmp_path / "kept")
    with pytest.raises(DbtoolError, match=r"holds no test-annotations-human-imagelabels\.csv; get"):
        load(folder)
    write_labels(folder / "test-annotations-human-imagelabels.csv", [(image(99), "/m/0a", 1)])
    with pytest.raises(DbtoolError, match=r"none of the 1 images that .* labels are in .*/images"):
        load(folder)
    shutil.rmtree(folder / "images")
    with pytest.raises(DbtoolError, match=r"none of the 7 images that .*train-annotations"):
        load(folder)


def test_splits_that_share_images_are_refused(folder):
    rows = [row for number in (20, 1, 3) for row in labelled(number)]
    write_labels(folder / "validation-annotations-human-imagelabels.csv", rows)
    with pytest.raises(DbtoolError) as caught:
        load(folder)
    assert str(caught.value) == (
        f"{folder} labels 2 images both in train and in validation, first {image(1)}; replace the"
        " label files by the official ones"
    )


def test_list_of_all_classes_must_have_every_label(folder):
    names = [*CLASSES, "/m/zz"]
    descriptions = "".join(f'{name},"Name, of {name}"\n' for name in names)
    (folder / "classes-trainable.txt").unlink()
    (folder / "class-descriptions.csv").write_text(descriptions)
    data = load(folder)
    assert read(data.test).targets[0].tolist() == [1, 0, 0, 1]
    (folder / "class-descriptions.csv").write_text(descriptions.replace("/m/zz", "/m/yy"))
    with pytest.raises(DbtoolError, match="class '/m/zz' the confidence 1: an ImageID has"):
        load(folder)


LISTED = ["/m/01", "/m/02", "/m/03"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["0000000000000000", "00ff", "ffffffffffffffff", "8000000000000001"]).map(
            lambda digits: digits.rjust(16, "0")
        ),
        st.sampled_from([*LISTED, "/m/99"]),
        st.integers(0, 1),
    ),
    max_size=20,
)


@given(rows=ROWS)
def test_labels_are_those_of_reading_row_by_row(file, rows):
    stated: dict[tuple[str, str], set[int]] = defaultdict(set)
    for image, name, value in rows:
        if name in LISTED:
            stated[image, name].add(value)
    write_labels(file, rows)
    if not any(1 in values for values in stated.values()):
        with pytest.raises(DbtoolError, match=r"of none of the listed classes that it is in an"):
            read_labels(file, LISTED, others=True)
        return
    labels, contradicting = read_labels(file, LISTED, others=True)
    assert contradicting == sum(len(values) == 2 for values in stated.values())
    seen = {key for key, values in stated.items() if values == {1}}
    images = sorted({image for image, _ in seen})
    assert [image_id(number) for number in labels["image"]] == images
    for image, classes in zip(images, labels["classes"], strict=True):
        assert [LISTED[number] for number in classes] == [
            name for name in LISTED if (image, name) in seen
        ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("0123456789abcdef,v,/m/01,0.7", "image '0123456789abcdef' and class '/m/01' the confi"),
        ("0123456789abcdef,v,/m/01,", "image '0123456789abcdef' and class '/m/01' the confidence"),
        ("0123456789abcdef,v,/m/99,1", "image '0123456789abcdef' and class '/m/99' the confid"),
        (",v,/m/01,1", "image '' and class '/m/01' the confidence 1: an ImageID has sixteen hex"),
        ("0123456789abcdef,v,/m/01,yes", r"a CSV file with the .* \(could not parse"),
    ],
)
def test_wrong_rows_are_refused(file, row, reason):
    start = "ImageID,Source,LabelName,Confidence\nffffffffffffffff,v,/m/01,1\n"
    file.write_text(f"{start}{row}\n")
    with pytest.raises(DbtoolError, match=f"^{file} (gives|is not) {reason}"):
        read_labels(file, LISTED, others=False)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "ImageID,Source,LabelName\nx,y,z\n"])
def test_other_columns_are_refused(file, text):
    file.write_text(text)
    with pytest.raises(DbtoolError, match="is not a CSV file with the columns ImageID, Source"):
        read_labels(file, LISTED, others=False)


def test_lists_of_classes(tmp_path):
    path = tmp_path / "classes-trainable.txt"
    path.write_text("/m/02\n/m/01\n")
    assert read_classes(path) == ["/m/02", "/m/01"]
    path.write_text('LabelName,DisplayName\n/m/02,"a, b"\n\n/m/01,c\n')
    assert read_classes(path) == ["/m/02", "/m/01"]
    path.write_text("\n")
    with pytest.raises(DbtoolError, match="names no class; replace it by the official list"):
        read_classes(path)
    path.write_text("/m/02\n/m/01\n/m/02\n")
    with pytest.raises(DbtoolError, match="names the class /m/02 twice"):
        read_classes(path)
    path.write_bytes(b"\xff\xff")
    with pytest.raises(DbtoolError, match="cannot be read as a list of classes"):
        read_classes(path)
