"""The page as text: what it holds, what it escapes, and that it needs nothing else."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from tests.dbtool.figures.gallery.conftest import NASTY, nasty_points


class Reader(HTMLParser):
    """Elements with their attributes, and their text, as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.inside = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, _tag):
        self.inside = ""

    def handle_data(self, data):
        self.texts.append((self.inside, data))


@pytest.fixture(scope="module")
def page(nasty_page):
    return nasty_page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


def test_names_with_html_stay_text(read):
    assert [element for element in read.elements if element[0] == "script"] == [
        ("script", {"type": "text/plain"}),
        ("script", {}),
    ]
    assert [attrs["src"][:11] for tag, attrs in read.elements if tag == "img"] == ["data:image/"]
    assert not any(name.startswith("on") for _, attrs in read.elements for name in attrs)


def test_the_query_is_there_word_for_word(read):
    shown = "".join(text for tag, text in read.texts if tag == "code")
    assert shown.removeprefix("dbtool plot steps") == nasty_points().sql
    assert NASTY.replace("'", "''") in shown


def test_the_page_asks_for_no_other_file(read):
    addresses = [
        attrs[name] for _, attrs in read.elements for name in ("src", "href") if name in attrs
    ]
    assert addresses
    assert all(address.startswith(("data:", "#")) for address in addresses)
    policies = [attrs["content"] for _, attrs in read.elements if "http-equiv" in attrs]
    assert policies[0].startswith("default-src 'none'")


def test_the_policy_lets_the_pages_own_script_and_style_run(page):
    for tag in ("style", "script"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page


def test_every_link_and_label_leads_somewhere_once(read):
    names = [attrs["id"] for _, attrs in read.elements if "id" in attrs]
    assert len(names) == len(set(names))
    wanted = [attrs["href"][1:] for tag, attrs in read.elements if tag == "a"]
    wanted += [
        attrs[name]
        for _, attrs in read.elements
        for name in ("aria-labelledby", "aria-describedby")
        if name in attrs
    ]
    assert set(wanted) <= set(names)


def test_pictures_say_what_they_show(read):
    (picture,) = [attrs for tag, attrs in read.elements if tag == "img"]
    assert picture["alt"].startswith("Steps to result against batch size, one panel: ")
    assert int(picture["width"]) > 100
    assert int(picture["height"]) > 100


def test_figures_without_data_say_what_would_fill_them(read):
    assert ("dd", NASTY) in read.texts
