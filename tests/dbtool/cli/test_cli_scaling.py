"""The command that tells how far larger batches help."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from tests.support import zhang
from tests.support.made_up import DIGITS, curve, reaching, write_shard


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Steps of two workloads."""
    file = tmp_path / "steps.csv"
    rows = [f"85M,{64 * 2**index},{steps}" for index, steps in enumerate(zhang.STEPS[85])]
    rows += [f"perfect,{2**index},{2 ** (20 - index)}" for index in range(8)]
    file.write_text("workload,batch_size,steps\n" + "\n".join(rows) + "\nperfect,256,\n")
    return file


def rows(output: str) -> dict[tuple[str, str], dict[str, str]]:
    found = csv.DictReader(io.StringIO(output))
    return {(row["workload"], row["definition"]): row for row in found}


def test_steps_of_a_table(call, table):
    words = ("scaling", "--csv", str(table), "--from", "256", "--curve", "hyperbola")
    outcome = call(*words, "--format", "csv")
    assert (outcome.code, outcome.errors) == (0, "")
    found = rows(outcome.output)
    assert [row["verdict"] for row in found.values()] == [
        *["identified"] * 3,
        # Its largest batch size is below 256.
        *["lower_bound", "not_identified", "lower_bound"],
    ]
    overhead = found["85M", "overhead"]
    assert float(overhead["critical_batch_size"]) == pytest.approx(745.3, rel=0.005)
    assert float(overhead["low"]) < 745.3 < float(overhead["high"])
    perfect = found["perfect", "tradeoff"]
    assert (perfect["critical_batch_size"], perfect["high"]) == ("", "")
    assert float(perfect["low"]) > 128


def test_linear_scaling_starts_at_a_measured_batch_size(call, table):
    said = " ".join(call("scaling", "--csv", str(table), "--from", "16385").output.split())
    assert "cannot start from 16,385, beyond the largest batch size, 16,384 (overhead)." in said


def test_words_come_first_and_fit_a_terminal(call, table):
    outcome = call("scaling", "--csv", str(table))
    words, _, printed = outcome.output.rpartition("\n\n")
    assert all(len(line) <= 80 for line in outcome.output.splitlines())
    said = " ".join(words.split())
    assert "Critical batch size 2,080 (95%: " in said
    assert "where a run takes 1.75 times the fewest steps and 1.75 times" in said
    assert "Perfect scaling, within 20%, up to at least 200 (95%)" in said
    # That of 256 is in the table, without steps: nothing is known of it.
    assert "At 256 the goal was not reached, which tells nothing without the steps" in said
    assert "Studies at batch sizes 512, 1,024 would tell more." in said
    heading, _, first, second = printed.splitlines()
    assert heading.split() == ["workload", "tradeoff", "overhead"]
    assert first.split()[:2] == ["85M", "2080"]
    assert second.split()[:2] == ["perfect", ">"]


def test_a_hyperbola_that_steps_exclude_is_said_to_be(call, tmp_path):
    table = tmp_path / "steps.csv"
    steps = {size: 100 * (1 + (64 / size) ** 4) ** 0.25 for size in map(float, 2 ** np.arange(12))}
    lines = [f"{size},{at}" for size, at in steps.items()]
    table.write_text("\n".join(["batch_size,steps", *lines]))
    words = ("scaling", "--csv", str(table))
    assert "steps bend by 3.6" in " ".join(call(*words).output.split())
    said = " ".join(call(*words, "--curve", "hyperbola").output.split())
    assert "This is by a hyperbola, which the steps exclude: their bend is 3.6" in said


def test_the_studies_that_would_tell_more_can_be_trained(call, tmp_path):
    for size in (8, 16, 32):
        # Both ends of the range are open.
        rows = curve([0.9, 0.5, 0.01], every=1600 // size, batch_losses=False)
        trials = [(number, "COMPLETE", {"learning_rate": 0.1}, rows) for number in range(5)]
        for workload in ("mnist/fc_64_64_64/sgd", "digits/mine/sgd"):
            write_shard(tmp_path, workload=workload, batch_size=size, trials=trials)
    printed = call("scaling", "mnist/*", "--db", str(tmp_path)).output
    command = (
        "dbtool produce mnist/fc_64_64_64/sgd --batch-sizes 1,2,4,64,128,256 --trials 5 --out runs"
    )
    assert command in printed
    assert "dbtool produce" not in call("scaling", "digits/*", "--db", str(tmp_path)).output


def test_batch_sizes_of_too_few_trials_are_named_in_every_form(call, tmp_path):
    for size, count in ((8, 2), (16, 5), (32, 5)):
        trials = [reaching(number) for number in range(count)]
        write_shard(tmp_path, workload="digits/mine/sgd", batch_size=size, trials=trials)
    words = ("scaling", "--db", str(tmp_path))
    few = "left out are 8, with fewer than 5 trials (--trials)"
    assert f"L{few[1:]}." in " ".join(call(*words).output.split())
    for form in (("--format", "csv"), ("--format", "markdown"), ("--rows", "steps")):
        assert call(*words, *form).errors.endswith(f":digits/mine/sgd: {few}\n")
    assert few not in call(*words, "--rows", "comparison").errors


def test_words_for_no_value_are_goals_that_were_not_reached(call, tmp_path):
    table = tmp_path / "steps.csv"
    words = ("scaling", "--csv", str(table), "--rows", "steps", "--columns", "steps")
    for word in ("", "None", "NA", "-", "inf", "Infinity"):
        table.write_text(f"batch_size,steps\n1,100\n2,50\n4,{word}\n")
        assert call(*words, "--format", "csv").output.split() == ["steps", "100.0", "50.0"]
    for word in ("None", "inf"):
        table.write_text(f"batch_size,steps\n1,100\n{word},50\n")
        assert f"batch_size {word!r} is not a number above 0" in call(*words).sentence(2)
    table.write_text("batch_size,lower,upper\n1,90,100\n2,50,inf\n")
    assert call(*words[:-1], "after,steps", "--format", "csv").output.split()[1:] == [
        "90.0,100.0",
        "50.0,",
    ]


def test_a_comparison_without_trials_of_both_says_so(call, tmp_path):
    for optimizer, sizes in {"adam": (8, 16), "sgd": (16, 32)}.items():
        for size in sizes:
            name, trials = f"digits/mine/{optimizer}", [reaching(each) for each in range(4)]
            write_shard(tmp_path, workload=name, batch_size=size, trials=trials)
    words = ("scaling", "--rows", "comparison", "--db", str(tmp_path))
    outcome = call(*words)
    assert outcome.errors.startswith("3 of 3 rows have no probability: `missing` names optimizers")
    chosen = call(*words, "--format", "csv", "--columns", "batch_size,k,missing").output
    assert chosen.split() == ["batch_size,k,missing", "8,1,sgd", "16,1,", "32,1,adam"]
    outcome = call("scaling", "--rows", "profiles", "--db", str(tmp_path))
    assert outcome.errors == (
        "left out are 2 of 3 cells, for want of 1 trial of adam (1) and sgd (1)\n"
    )
    assert outcome.output.split("\n")[0].split()[-2:] == ["cells", "k"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("comparison", "comparison has no rows: no two workloads of a release differ in the "),
        ("learning_rates", "learning_rates has no rows: no study with enough trials, of several"),
        ("law --law batch", "law has no rows: it takes three workloads with values of it"),
    ],
)
def test_rows_that_there_are_none_of_say_what_they_need(call, tmp_path, words, sentence):
    """Two optimizers, each in a release of its own."""
    for name in ("adam", "sgd"):
        workload, trials = f"digits/mine/{name}", [reaching(0, 0.05)]
        write_shard(tmp_path / name, release=name, workload=workload, trials=trials, batch=8)
    outcome = call("scaling", "--rows", *words.split(), "--db", str(tmp_path), "--format", "csv")
    assert (outcome.code, outcome.output.count("\n")) == (0, 1)
    assert outcome.errors.splitlines()[-1].startswith(sentence)


def test_too_few_batch_sizes_tell_nothing(call):
    chosen = call("scaling", DIGITS, "--format", "latex", "--columns", "workload,tradeoff")
    assert "workload & tradeoff \\\\\n" in chosen.output
    # Trials 0 and 1, and trial 2, which diverged.
    said = " ".join(call("scaling", DIGITS).output.split())
    assert "The critical batch size cannot be told: of the batch sizes 2 reached the goal" in said
    assert "From the best of 3 trials, diverged ones counted, at 2 batch sizes, 8 to 64." in said
    _, said, *_ = call("scaling", DIGITS, "--trials", "9").output.splitlines()
    assert said == "  No batch size has 9 trials: ask for fewer (--trials)."


def test_letters_that_move_the_cursor_are_escaped(call, tmp_path):
    table = tmp_path / "steps.csv"
    rows = [f"a\x1b[2Jb,{2**power},{2 ** (20 - power)}" for power in range(12)]
    table.write_text("\n".join(["workload,batch_size,steps", *rows]))
    outcome = call("scaling", "--csv", str(table))
    assert (outcome.code, outcome.errors) == (0, "")
    assert "\x1b" not in outcome.output
    assert "a\\x1b[2Jb" in outcome.output
