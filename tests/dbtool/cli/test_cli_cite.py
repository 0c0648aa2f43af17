"""What `dbtool cite` prints, against CITATION.cff."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.made_up import write_release

CITATION = Path(__file__).parents[3] / "CITATION.cff"
ALWAYS = ["shallue2019measuring", "lee2021understanding", "dbtool"]
OWN = "@misc{own,\n  title = {Made-up numbers},\n}"


def entries(text: str) -> dict[str, dict[str, str]]:
    """The fields of BibTeX entries by key, blanks in a row as one."""
    found = {}
    for entry in text.strip().split("\n\n"):
        match = re.fullmatch(r"@\w+\{([^,]+),\n(.*)\n\}", entry, re.DOTALL)
        assert match is not None
        key, body = match.groups()
        fields = re.findall(r"^  (\w+) = \{(.*?)\},$", body, re.DOTALL | re.MULTILINE)
        found[key] = {name: " ".join(value.split()) for name, value in fields}
    return found


def authors(work: dict[str, Any]) -> str:
    """The authors of CITATION.cff as BibTeX writes them."""
    return " and ".join(
        f"{{{each['name']}}}"
        if "name" in each
        else f"{each['family-names']}, {each['given-names']}"
        for each in work["authors"]
    )


def test_cite_says_what_the_citation_file_says(call):
    found = entries(call("cite").output)
    assert list(found) == ALWAYS
    own = yaml.safe_load(CITATION.read_text())
    first, second = own["references"]
    for fields, work in zip(found.values(), (first, second, own), strict=True):
        assert fields["title"] == work["title"]
        assert fields["author"] == authors(work)
        assert fields["year"] == str(work.get("year") or work["date-released"].year)
        assert fields.get("url") == work.get("url")
    paper, talk, program = found.values()
    assert paper["journal"] == first["journal"]
    assert (paper["volume"], paper["number"]) == (str(first["volume"]), str(first["issue"]))
    assert paper["pages"] == f"{first['start']}--{first['end']}"
    assert talk["booktitle"] == second["conference"]["name"]
    assert program["note"] == f"Version {own['version']}"


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        (OWN, [*ALWAYS, "own"]),
        # A release of the paper's own measurements names the paper, which is there already.
        ("@article{shallue2019measuring,\n  year = {2018},\n}", ALWAYS),
        ("Ask the authors.", None),
    ],
)
def test_cite_prints_what_a_release_gives_once_a_key(citation, expected, call, tmp_path):
    database = write_release(tmp_path / "own", citation=citation)
    outcome = call("cite", "--db", str(database))
    assert outcome.code == 0
    if expected is None:
        assert outcome.output.endswith(f"}}\n\n{citation}\n")
    else:
        assert list(entries(outcome.output)) == expected
        assert "2018" not in outcome.output
