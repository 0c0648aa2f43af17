from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import ImageForm
from producers.datasets.streamed import RANDOM_NUMBERS, decode
from tests.support.image_files import encoded, picture

FORM = ImageForm(height=14, width=14, channels=3, classes=2)


@pytest.mark.parametrize(("width", "height"), [(60, 48), (48, 60), (16, 16), (10, 200), (1, 1)])
def test_middle_is_that_of_scaling_the_shorter_side(width: int, height: int) -> None:
    image = picture(3, width, height)
    ratio = 16 / min(width, height)
    size = (round(width * ratio), round(height * ratio))
    left, top = (size[0] - 14) // 2, (size[1] - 14) // 2
    scaled = image.resize(size, Image.Resampling.BILINEAR)
    cut = scaled.crop((left, top, left + 14, top + 14))
    found = decode(encoded(image, "PNG"), "x", FORM)
    assert found.shape == (14, 14, 3)
    assert np.abs(found.astype(int) - np.asarray(cut)).mean() < 1


def test_form_of_another_shape_keeps_the_largest_box_of_it() -> None:
    form = ImageForm(height=8, width=16, channels=3, classes=2)
    image = picture(4, 64, 64)
    # Of 64 by 64 the largest box is 64 by 32, of which seven eighths are 56 by 28.
    expected = image.resize((16, 8), Image.Resampling.BILINEAR, box=(4, 18, 60, 46))
    np.testing.assert_array_equal(decode(encoded(image, "PNG"), "x", form), np.asarray(expected))


def test_jpeg_at_a_fraction_of_its_size_looks_the_same() -> None:
    image = picture(5, 400, 300)
    whole = decode(encoded(image, "PNG"), "x", FORM)
    assert np.abs(whole.astype(int) - decode(encoded(image), "x", FORM)).mean() < 2


@pytest.mark.parametrize("mode", ["L", "CMYK", "1", "LA", "RGBA", "P", "I;16"])
def test_images_of_any_colours_become_red_green_blue(mode: str) -> None:
    kind = "JPEG" if mode in {"L", "CMYK"} else "PNG"
    image = Image.new("I;16", (20, 20)) if mode == "I;16" else picture(1, 20, 20).convert(mode)
    pixels = decode(encoded(image, kind), "x", FORM)
    assert (pixels.shape, pixels.dtype) == ((14, 14, 3), np.dtype("uint8"))


@pytest.mark.parametrize(
    ("at", "side"), [(0.0, 256), (0.9999, 512), (128.5 / 257, 384), (127.9 / 257, 383)]
)
def test_augmentation_crops_and_flips_as_its_numbers_say(at: float, side: int) -> None:
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
def test_any_size_and_any_numbers_give_an_image(
    width: int, height: int, kind: str, seed: int
) -> None:
    content = encoded(Image.new("RGB", (width, height), (10, 100, 200)), kind)
    numbers = np.random.default_rng(seed).random(RANDOM_NUMBERS)
    for augmentation in (None, numbers):
        pixels = decode(content, "x", FORM, augmentation)
        assert np.abs(pixels.astype(int) - [10, 100, 200]).max() <= 3


def test_damaged_images_are_refused_by_name() -> None:
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
