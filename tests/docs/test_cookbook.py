"""docs/cookbook.md: every analysis is there, and what its commands say runs."""

import re
from pathlib import Path

import cookbook
import pytest

from dbtool.store.questions import analyses, query_text
from tests.support.made_up import curve, write_shard

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "cookbook.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cookbook")
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.2]))]
    for size in (8, 16):
        write_shard(folder, batch_size=size, trials=trials)
    return folder


def test_every_analysis_is_on_the_page():
    assert sorted(cookbook.NAMES) == list(analyses())
    for name, title in analyses().items():
        question, about, query = cookbook.split_comment(query_text(name))
        assert question == title
        assert about
        assert f'<a id="{name}"></a>\n\n## {title}\n\n{about}\n' in PAGE
        assert f"```sql\n{query}\n```" in PAGE


def test_no_table_of_the_page_is_empty():
    head_alone = re.compile(r"^\|[ :|-]+\|\n(?!\|)", re.MULTILINE)
    assert not head_alone.search(PAGE)


def test_the_page_is_written_from_what_queries_print(database):
    text = cookbook.analysis("divergence", database)
    assert "| made-up | made_up/simple_cnn_base/nesterov_momentum | 8 | " in text
    assert "--limit" not in text
