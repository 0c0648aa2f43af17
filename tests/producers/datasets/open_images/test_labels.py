from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets.open_images.labels import image_id, read_classes, read_labels
from tests.support.image_files import write_labels

if TYPE_CHECKING:
    from pathlib import Path

CLASSES = ["/m/01", "/m/02", "/m/03"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["0000000000000000", "00ff", "ffffffffffffffff", "8000000000000001"]).map(
            lambda digits: digits.rjust(16, "0")
        ),
        st.sampled_from([*CLASSES, "/m/99"]),
        st.integers(0, 1),
    ),
    max_size=20,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labels") / "train-annotations-human-imagelabels.csv"


@given(rows=ROWS)
def test_labels_are_those_of_reading_row_by_row(
    file: Path, rows: list[tuple[str, str, int]]
) -> None:
    stated: dict[tuple[str, str], set[int]] = defaultdict(set)
    for image, name, value in rows:
        if name in CLASSES:
            stated[image, name].add(value)
    write_labels(file, rows)
    if not any(1 in values for values in stated.values()):
        with pytest.raises(DbtoolError, match=r"of none of the listed classes that it is in an"):
            read_labels(file, CLASSES, others=True)
        return
    labels = read_labels(file, CLASSES, others=True)
    assert labels.contradicting == sum(len(values) == 2 for values in stated.values())
    seen = {key for key, values in stated.items() if values == {1}}
    images = sorted({image for image, _ in seen})
    assert [image_id(int(number)) for number in labels.images] == images
    for number, image in enumerate(images):
        expected = [int((image, name) in seen) for name in CLASSES]
        assert labels.targets(number, 3).tolist() == expected


def test_known_file_gives_known_targets(file: Path) -> None:
    file.write_text(
        "ImageID,Source,LabelName,Confidence\n"
        "000026e7ee790996,verification,/m/03,1.0\n"
        "000026e7ee790996,crowdsource-verification,/m/01,0\n"
        "000595fe6fee6369,verification,/m/03,0\n"
        "fe600639ac5f36a3,verification,/m/01,1\n"
        "fe600639ac5f36a3,verification,/m/02,1.0\n"
    )
    labels = read_labels(file, CLASSES, others=False)
    assert [image_id(int(number)) for number in labels.images] == [
        "000026e7ee790996",
        "fe600639ac5f36a3",
    ]
    # The second image shows none of the classes. Of the first nothing is said about one of them.
    assert labels.targets(0, 3).tolist() == [0, 0, 1]
    assert labels.targets(1, 3).tolist() == [1, 1, 0]
    assert labels.targets(1, 3).dtype == np.uint8


def test_file_of_several_blocks_is_read_whole(file: Path) -> None:
    rows = [(f"{number:016x}", CLASSES[number % 3], number % 2) for number in range(40_000)]
    write_labels(file, rows[::-1])
    assert file.stat().st_size > 2**20
    labels = read_labels(file, CLASSES, others=False)
    odd = np.arange(1, 40_000, 2)
    np.testing.assert_array_equal(labels.images, odd)
    np.testing.assert_array_equal(labels.classes, odd % 3)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("0123456789abcdef,v,/m/01,0.7", "gives image 0123456789abcdef the confidence 0.7, which"),
        ("0123456789abcdef,v,/m/01,", "gives image 0123456789abcdef the confidence nan, which"),
        ("0123456789abcdef,v,/m/99,1", "holds the class '/m/99', which is not in the list of"),
        ("0123456789abcde,v,/m/01,1", "holds the ImageID '0123456789abcde', which is not sixteen"),
        ("0123456789abcdeg,v,/m/01,1", "holds the ImageID '0123456789abcdeg', which is not"),
        ("0123456789ABCDEF,v,/m/01,1", "holds the ImageID '0123456789ABCDEF', which is not"),
        (",v,/m/01,1", "holds the ImageID '', which is not sixteen hexadecimal digits"),
        ("0123456789abcdef,v,/m/01,yes", r"is no CSV file with the columns .* \(could not parse"),
        ("0123456789abcdef,v,/m/01", "gives image 0123456789abcdef the confidence nan, which"),
    ],
)
def test_wrong_rows_are_refused(file: Path, row: str, reason: str) -> None:
    start = "ImageID,Source,LabelName,Confidence\nffffffffffffffff,v,/m/01,1\n"
    file.write_text(f"{start}{row}\n")
    with pytest.raises(DbtoolError, match=f"^{file} {reason}"):
        read_labels(file, CLASSES, others=False)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "ImageID,Source,LabelName\nx,y,z\n"])
def test_other_columns_are_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(DbtoolError, match="is no CSV file with the columns ImageID, Source, Label"):
        read_labels(file, CLASSES, others=False)


def test_other_bytes_are_refused(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"ImageID,Source,LabelName,Confidence\n\xff\xfe,v,/m/01,1\n")
    with pytest.raises(DbtoolError, match=f"^{file} "):
        read_labels(file, CLASSES, others=False)
    with pytest.raises(DbtoolError, match="absent is no CSV file"):
        read_labels(tmp_path / "absent", CLASSES, others=False)


def test_lists_of_classes(tmp_path: Path) -> None:
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
