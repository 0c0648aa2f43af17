import xml.etree.ElementTree as ET

from PIL import Image

from dbtool import __version__
from dbtool.figures.batch import write_figure
from dbtool.figures.points import Request, read_points
from dbtool.figures.specs import find_figure


def test_every_file_says_what_it_was_made_from(db, tmp_path):
    points = read_points(db, find_figure("1"), Request())
    written = write_figure(points, find_figure("1"), tmp_path, ["png", "svg", "pdf"])
    png, svg, pdf = written.files
    with Image.open(png) as image:
        assert image.info["SQL"] == points.sql
        assert image.info["Release"] == "made-up"
        assert image.info["Rows"] == "3"
        assert image.info["Version"] == f"dbtool {__version__}"
        assert round(image.info["dpi"][0]) == 200
    elements = list(ET.parse(svg).iter())  # noqa: S314 (our own file)
    words = {element.text or "" for element in elements}
    assert {points.sql, "Release: made-up", "Rows: 3", f"Version: dbtool {__version__}"} <= words
    assert not any("date" in element.tag for element in elements)
    contents = pdf.read_bytes()
    assert f"Release: made-up; Rows: 3; Version: dbtool {__version__}".encode() in contents
    assert b"steps_points" in contents
    assert b"CreationDate" not in contents
