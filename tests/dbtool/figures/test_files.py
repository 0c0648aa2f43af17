import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from dbtool import __version__
from dbtool.figures.files import write_figure
from dbtool.figures.points import Request, read_points
from dbtool.figures.specs import find_figure


@pytest.fixture
def points(db):
    return read_points(db, find_figure("1"), Request())


def test_a_png_says_what_it_was_made_from(points, tmp_path):
    path, _ = write_figure(points, find_figure("1"), tmp_path, ["png"])
    with Image.open(path) as image:
        assert image.info["SQL"] == points.sql
        assert image.info["Release"] == "made-up"
        assert image.info["Rows"] == "3"
        assert image.info["Version"] == f"dbtool {__version__}"
        assert round(image.info["dpi"][0]) == 200


def test_an_svg_says_what_it_was_made_from(points, tmp_path):
    path, _ = write_figure(points, find_figure("1"), tmp_path, ["svg"])
    words = [element.text or "" for element in ET.parse(path).iter()]  # noqa: S314 (our own file)
    assert points.sql in words
    assert {"Release: made-up", "Rows: 3", f"Version: dbtool {__version__}"} <= set(words)
    assert not any("date" in element.tag for element in ET.parse(path).iter())  # noqa: S314


def test_a_pdf_says_what_it_was_made_from(points, tmp_path):
    path, _ = write_figure(points, find_figure("1"), tmp_path, ["pdf"])
    contents = path.read_bytes()
    assert f"Release: made-up; Rows: 3; Version: dbtool {__version__}".encode() in contents
    assert b"steps_points" in contents
    assert b"CreationDate" not in contents
