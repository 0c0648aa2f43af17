"""Text logs, of the lines that have the forms of a mapping."""

import pytest

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.sources.logs.trainers import read_text
from tests.support.logs import ingest
from tests.support.own_runs import query


@pytest.mark.parametrize(
    "form", ["loss {loss}", "{step}", "{step} {step} {loss}", "{step} {a} {a}"]
)
def test_forms_of_lines_that_are_none(tmp_path, form):
    (tmp_path / "a.log").write_text("iter 1 loss 2\n")
    with pytest.raises(UsageError, match=r"should have \{step\} and metrics in braces"):
        ingest(tmp_path, "a.log", source="text", mapping=f'[files]\nline = "{form}"\n')


def test_a_text_log_without_a_line_of_the_form_is_named(tmp_path):
    mapping = '[files]\nline = "iter {step}: loss {loss}"\n'
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("nothing here\n")
    sentence = f"{tmp_path / 'logs' / 'a.log'}: no line has the form that files.line gives"
    with pytest.raises(DbtoolError) as error:
        ingest(tmp_path, "logs", source="text", mapping=mapping)
    assert str(error.value) == sentence
    (tmp_path / "logs" / "b.log").write_text("iter 5: loss 0.5\n")
    told: list[str] = []
    report = ingest(tmp_path, "logs", source="text", mapping=mapping, on_message=told.append)
    assert report.trials == 1
    assert sentence in told


FORM = "step {step} loss {loss}"


@pytest.mark.parametrize(
    ("text", "values", "cut"),
    [
        ("step 10 loss 0.5\nstep 20 loss 0.\n", ["0.5", "0."], False),
        ("step 10 loss 0.5\nstep 20 loss 0.", ["0.5"], True),
        ("step 10 loss 0.5\r\nstep 20 loss 0.2 done", ["0.5", "0.2"], False),
        ("step 1 loss Infinity\nstep 2 loss -inf\n", ["Infinity", "-inf"], False),
        ("step 1 loss 1.#INF\nstep 2 loss -1.#IND00\n", ["inf", "-nan"], False),
        ("step 1 loss NaN\nstep 2 loss 1,024.5\n", ["NaN", "1024.5"], False),
    ],
)  # fmt: skip
def test_numbers_of_a_text_log(tmp_path, text, values, cut):
    (tmp_path / "a.log").write_bytes(text.encode())
    [run] = read_text(tmp_path / "a.log", [FORM])
    assert run.rows["value"].to_list() == values
    assert ("left out" in run.note) == cut


def test_two_values_at_a_step_of_a_text_log_are_refused(tmp_path):
    (tmp_path / "a.log").write_text(
        "Train step 10 loss 0.5\nTest step 10 loss 0.9\nTrain step 20 loss 0.25\n"
    )

    def ingested(line: str) -> list[tuple[object, ...]]:
        ingest(tmp_path, "a.log", source="text", mapping=f"[files]\n{line}\n")
        return query(tmp_path, "SELECT batch_cross_entropy_error FROM measurements ORDER BY step")

    with pytest.raises(DbtoolError) as error:
        ingested(f'line = "{FORM}"')
    path = tmp_path / "a.log"
    assert str(error.value) == (
        f"{path} line 2, column 'loss': step 10 is there with another value at {path} line 1; give "
        "the forms in files.line more of the text that tells such lines apart, or choose one with "
        'files.repeated_steps = "first" or "last"'
    )
    assert ingested(f'line = "Train {FORM}"') == [(0.5,), (0.25,)]
