import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets.cifar import parse_binary, parse_python
from producers.datasets.forms import CIFAR_10, ImageForm
from producers.datasets.registry import load_dataset
from producers.datasets.split import Dataset, Split
from tests.support.image_files import (
    binary_batch,
    cifar_images,
    md5,
    python_2_batch,
    python_3_batch,
    read,
)

PATH = Path("data_batch_1")
TRAINING, TEST = cifar_images(60, seed=1), cifar_images(20, seed=2)


def write(
    folder: Path, batch: Callable[[np.ndarray, np.ndarray], bytes] = binary_batch, batches: int = 3
) -> Path:
    """Writes 60 training images in so many batches and 20 test images."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ".bin" if batch is binary_batch else ""
    size = 60 // batches
    for number in range(batches):
        part = slice(number * size, (number + 1) * size)
        content = batch(TRAINING[0][part], TRAINING[1][part])
        (folder / f"data_batch_{number + 1}{suffix}").write_bytes(content)
    (folder / f"test_batch{suffix}").write_bytes(batch(*TEST))
    return folder


def whole(data: Dataset) -> list[Split]:
    return [read(split) for split in (data.train, data.validation, data.test)]


def test_all_formats_give_the_same_splits(tmp_path):
    folders = [
        write(tmp_path / "binary", batches=1),
        write(tmp_path / "python" / "cifar-10-batches-py", python_2_batch, batches=5).parent,
        write(tmp_path / "python_3", python_3_batch),
    ]
    both = [load_dataset("cifar_10", form=CIFAR_10, folder=folder) for folder in folders]
    for one, *others in zip(*map(whole, both), strict=True):
        for other in others:
            np.testing.assert_array_equal(one.inputs, other.inputs, strict=True)
            np.testing.assert_array_equal(one.targets, other.targets, strict=True)
    train, validation, test = whole(both[0])
    assert (len(train), len(validation)) == (54, 6)
    np.testing.assert_array_equal(test.inputs, TEST[0])
    found = {image.tobytes() for split in (train, validation) for image in split.inputs}
    assert found == {image.tobytes() for image in TRAINING[0]}
    assert both[0].form == CIFAR_10
    content = (folders[0] / "test_batch.bin").read_bytes()
    assert both[0].file_hashes["test_batch.bin"] == md5(content)


def test_classes_are_those_found(tmp_path):
    images, labels = TRAINING
    (tmp_path / "data_batch_1.bin").write_bytes(binary_batch(images, labels % 4))
    (tmp_path / "test_batch.bin").write_bytes(binary_batch(TEST[0], TEST[1] % 4))
    form = load_dataset("cifar_10", form=CIFAR_10, folder=tmp_path).form
    assert isinstance(form, ImageForm)
    assert form.classes == 4
    (tmp_path / "test_batch.bin").write_bytes(binary_batch(*TEST))
    with pytest.raises(DbtoolError, match=r"test_batch\.bin holds the label 9, outside 0 to 3"):
        load_dataset("cifar_10", form=CIFAR_10, folder=tmp_path)


def test_known_data_set_is_checked(tmp_path):
    binary = write(tmp_path / "binary" / "cifar_10" / "cifar-10-batches-bin", batches=5)
    with pytest.raises(DbtoolError) as caught:
        load_dataset("cifar_10", form=CIFAR_10, datasets_dir=tmp_path / "binary")
    assert str(caught.value).startswith(
        f"{binary} holds 60 train examples of CIFAR-10, from 6 to 6 a class, not 50,000, 5,000 a"
    )
    python = write(tmp_path / "python" / "cifar-10-batches-py", python_2_batch, batches=5)
    with pytest.raises(DbtoolError, match="data_batch_1 is not the known data_batch_1: its MD5"):
        load_dataset("cifar_10", form=CIFAR_10, datasets_dir=python.parent)


class _Malicious:
    def __init__(self, call: object, *arguments: object) -> None:
        self._reduced = (call, arguments)

    def __reduce__(self) -> tuple[object, ...]:
        return self._reduced


def test_malicious_pickle_is_refused_and_not_run(tmp_path):
    trace = tmp_path / "trace"
    for call, name in ((os.mkdir, "posix.mkdir"), (eval, "builtins.eval")):
        argument = str(trace) if call is os.mkdir else f"open({str(trace)!r}, 'w')"
        content = pickle.dumps({b"data": _Malicious(call, argument)}, protocol=3)
        with pytest.raises(DbtoolError) as caught:
            parse_python(content, PATH)
        assert str(caught.value) == (
            f"data_batch_1 names {name}, which no batch of CIFAR-10 needs and which was not run;"
            " replace it by the official file"
        )
        assert not trace.exists()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("numpy.ndarray", ((10**9,),)),
        ("numpy.core.multiarray._reconstruct", (list, (0,), b"b")),
        ("numpy.dtype", ("O",)),
        ("_codecs.encode", ("x", "rot13")),
    ],
)
def test_needed_names_do_nothing_but_what_batches_need(name, arguments):
    module, _, attribute = name.rpartition(".")
    called = pickle.dumps(arguments, protocol=0)[:-1].replace(b"c__builtin__\nlist\n", b"]")
    content = f"c{module}\n{attribute}\n".encode() + called + b"R."
    with pytest.raises(DbtoolError, match=r"is not a Python batch of CIFAR-10"):
        parse_python(content, PATH)


def replaced(**entries: object) -> bytes:
    images, labels = cifar_images(2)
    data = images.reshape(2, 3072)
    batch: dict[str, object] = {"data": data, "labels": labels.tolist()}
    return pickle.dumps(batch | entries, protocol=2)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (pickle.dumps([1, 2], protocol=2), "`data` is not an array of bytes of 3,072 columns"),
        (replaced(data=np.zeros((2, 3072))), r"its pickle is damaged \(UnpicklingError\)"),
        (replaced(labels=["a", "b"]), "`labels` is not a list of 2 whole numbers up to 255"),
        (replaced(labels=[1]), "`labels` is not a list of 2 whole"),
        (replaced(labels=[0, 256]), "`labels` is not a list of 2 whole"),
        (b"\x80\x02]r\xff\xff\xff\x3f.", r"its pickle is damaged \(UnpicklingError\)"),
    ],
)
def test_other_content_is_refused(content, reason):
    with pytest.raises(DbtoolError, match=f"^data_batch_1 is not a Python batch .*{reason}"):
        parse_python(content, PATH)


@pytest.mark.parametrize("size", [0, 3072])
def test_binary_batch_of_parts_of_records_is_refused(size):
    with pytest.raises(DbtoolError, match=f"holds {size:,} bytes, not a whole number of records"):
        parse_binary(bytes(size), PATH)


@given(position=st.integers(0, 400), value=st.integers(0, 255))
@example(position=108, value=255)  # an escape that Python warns of
def test_damaged_python_batch_is_a_batch_or_refused(position, value):
    """Around the pixels, whose position in the file is far from both ends, each byte matters."""
    content = bytearray(python_2_batch(*cifar_images(1)))
    middle = content.index(b"\x89T") + 6
    at = position if position < middle else len(content) - 1 - (position - middle) % 90
    content[at] = value
    try:
        split = parse_python(bytes(content), PATH)
    except DbtoolError as error:
        assert str(error).startswith("data_batch_1 ")  # noqa: PT017 (it may also be a batch)
    else:
        assert split.inputs.shape[1:] == (32, 32, 3)
