"""MLPerf's logs and reference points, in made-up files of the published forms."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import dbtool
from dbtool.core.errors import UsageError
from dbtool.sources.base import Report, add_source
from dbtool.sources.mlperf.benchmarks import benchmarks
from dbtool.sources.public.catalog import public_source

SETTING = {"submission_org": "Lab", "submission_division": "closed", "seed": 7, "opt_name": "lars"}


def mllog(key: str, value: Any, time_ms: int = 0, **metadata: Any) -> str:
    event = {"key": key, "value": value, "time_ms": time_ms, "metadata": metadata}
    return f":::MLLOG {json.dumps(event)}\n"


def log(
    benchmark: str,
    batch_size: int | None,
    evaluations: list[tuple[Any, dict[str, Any]]],
    status: str = "success",
    **setting: Any,
) -> str:
    """A log whose evaluations come 1.5 s after each other."""
    known = {"submission_benchmark": benchmark, **SETTING, **setting}
    if batch_size is not None:
        known["global_batch_size"] = batch_size
    lines = [mllog(key, value) for key, value in known.items() if value is not None]
    lines.append(mllog("run_start", None, 1_000))
    for number, (value, metadata) in enumerate(evaluations, start=1):
        lines.append(mllog("eval_accuracy", value, 1_000 + 1_500 * number, **metadata))
    return "".join([*lines, mllog("run_stop", None, 9_000, status=status)])


def write(folder: Path, round_name: str, text: str, system: str = "box", number: int = 0) -> None:
    path = folder / round_name / "Lab" / "results" / system / "any" / f"result_{number}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[], tuple[Report, list[tuple[Any, ...]]]]:
    """Add the logs in the folder `logs`; return the report, and the rows of all evaluations."""

    def rows() -> tuple[Report, list[tuple[Any, ...]]]:
        report = add_source(public_source("mlperf", tmp_path / "logs"), tmp_path / "db")
        if not report.trials:
            return report, []
        with dbtool.open(tmp_path / "db") as database:
            query = """
                SELECT workload, batch_size, trial_id, status, step, other_metrics
                FROM measurements ORDER BY ALL
            """
            return report, database.sql(query).rows()

    return rows


# Round, benchmark, batch size, train_samples, evaluations with what their lines say beside a value,
# and the steps.
PLACES: Mapping[str, tuple[str, str, int, Any, list[tuple[Any, dict[str, Any]]], list[int]]] = {
    # 3,843.5 and 8,968.2
    "epochs": ("training_results_v3.0", "resnet", 1_000, 1_281_167,
               [(0.4, {"epoch_num": 3}), (0.759, {"epoch_num": 7})], [3_844, 8_968]),
    "epochs of batches": ("training_results_v2.0", "ssd", 256, 4_572,
                          [(0.2, {"epoch_num": 1}), (0.35, {"epoch_num": 2})], [4_572, 9_144]),
    "samples in place of epochs": (
        "training_results_v4.0", "unet3d", 56, 168,
        [(0.85, {"epoch_num": 168_000}), (0.91, {"epoch_num": 171_360})], [3_000, 3_060]),
    "samples": ("training_results_v5.1", "llama31_8b", 32, None,
                [(3.5, {"samples_count": 12_288}), (3.3, {"samples_count": 24_576})], [384, 768]),
    # 670.5
    "samples as epoch_num": (
        "training_results_v3.1", "bert", 448, 2_402_176,
        [(0.4, {"epoch_num": 150_080}), (0.72, {"epoch_num": 300_384})], [335, 671]),
    "numbered": ("training_results_v1.0", "bert", 256, 3_000_064,
                 [(0.4, {"epoch_num": 1}), (0.73, {"epoch_num": 1})], [11_719]),
    "the second epoch": (
        "training_results_v1.1", "dlrm", 55_296, 3_775_334_400,
        [(0.77, {"epoch_num": 1.0499947}), (0.8026, {"epoch_num": 1.899905})], [3_793, 68_275]),
    "tokens": ("training_results_v3.0", "gpt3", 1_536, None,
               [(2.75, {"epoch_num": 50_331_648}), (2.69, {"epoch_num": 100_663_296})], [16, 32]),
    "steps": ("hpc_results_v2.0", "deepcam", 256, 121_266,
              [(0.6, {"epoch_num": 1, "step_num": 473}), (0.83, {"epoch_num": 2, "step_num": 946})],
              [473, 946]),
}  # fmt: skip


def test_steps_are_counted_from_a_log_s_own_numbers(tmp_path, read):
    for case, (where, benchmark, batch_size, samples, evaluations, _) in PLACES.items():
        text = log(benchmark, batch_size, evaluations, train_samples=samples)
        write(tmp_path / "logs", where, text, system=case)
    report, _ = read()
    assert (report.trials, report.unused) == (len(PLACES), {})
    steps = """
        SELECT name, step FROM measurements JOIN trials USING (workload, batch_size, trial_id)
        ORDER BY ALL
    """
    with dbtool.open(tmp_path / "db") as database:
        rows = database.sql(steps).rows()
    found = {case: [step for name, step in rows if f"/{case}/" in name] for case in PLACES}
    assert found == {case: expected for case, (*_, expected) in PLACES.items()}


def test_a_run_keeps_its_setting_its_times_and_its_division(tmp_path, read):
    evaluations = [(0.4, {"epoch_num": 4}), (0.8, {"epoch_num": 8})]
    ended: dict[str, Any] = {"lars_opt_base_learning_rate": 12.5, "train_samples": 1_281_167}
    write(tmp_path / "logs", "training_results_v3.0", log("resnet", 4_096, evaluations, **ended))
    other = {**ended, "submission_division": "open", "opt_name": "Shampoo"}
    aborted = log("resnet", 4_096, evaluations[:1], "aborted", **other)
    write(tmp_path / "logs", "training_results_v4.0", aborted)
    _, rows = read()
    closed, opened = "mlperf/resnet_50/v0.6-v4.0", "mlperf_open/resnet_50/v0.6-v4.0"
    assert [row[:5] for row in rows] == [
        (closed, 4_096, 0, "COMPLETE", 1_251),
        (closed, 4_096, 0, "COMPLETE", 2_502),
        (opened, 4_096, 0, "COMPLETE", 1_251),
    ]
    assert rows[1][5] == {"val_accuracy": 0.8, "seconds": 3.0}
    with dbtool.open(tmp_path / "db") as database:
        [trial] = database.sql(
            "SELECT learning_rate, seed, name, settings FROM trials WHERE workload LIKE 'mlperf/%'"
        ).rows()
        assert database.steps(closed)["steps"].to_list() == [2_502]
        asked: list[tuple[dict[str, Any], float]] = [({}, 3), ({"sustained": 2, "goal": 0.1}, 1.5)]
        for options, seconds in asked:
            timed = database.steps(closed, by="seconds", **options)
            assert timed["seconds"].to_list() == [seconds]
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"by": "seconds", "goal": 0.9}, "tells how long it took"),
            ({"by": "seconds", "sustained": 2}, "tells how long it took"),
            ({"by": "hours"}, "unknown unit 'hours'"),
        ]
        for options, sentence in wrong:
            with pytest.raises(UsageError, match=sentence):
                database.steps(closed, **options)
        times = database.sql("SELECT step, seconds FROM measurements ORDER BY ALL").rows()
        assert times == [(1_251, 1.5), (1_251, 1.5), (2_502, 3.0)]
    assert trial[:2] == (12.5, 7)
    assert trial[2] == "training_results_v3.0/Lab/results/box/any/result_0.txt"
    settings = json.loads(trial[3])
    ran = {"division": "closed", "round": "training-v3.0", "submitter": "Lab"}
    assert settings == ran | {"learning_rate": 12.5, "optimizer": "lars"}


def test_odd_logs_are_named_with_the_reason(tmp_path, read):
    evaluations = [(0.4, {"epoch_num": 4}), (0.8, {"epoch_num": 8})]

    def resnet(told: Any = evaluations, size: int | None = 4_096, samples: Any = 1_281_167) -> str:
        return log("resnet", size, told, train_samples=samples)

    whole = resnet()
    odd = {
        "it has no batch size": resnet(size=None),
        "it has no evaluation": resnet([]),
        "it counts epochs and has no train_samples": resnet(samples=None),
        "its train_samples, 160,000, are not those of an epoch": resnet(samples=160_000),
        "its evaluations do not say where they were made": resnet([(0.8, {})]),
        "an evaluation has the value 'good'": resnet([("good", {"epoch_num": 1})]),
        "steps of the benchmark 'minigo' cannot be counted": log("minigo", 4_096, evaluations),
        "a line is damaged": whole[: whole.rindex("epoch_num")],
        "a file of another round or system has the same run": whole,
    }
    write(tmp_path / "logs", "training_results_v1.0", whole)
    for number, text in enumerate(odd.values()):
        write(tmp_path / "logs", "training_results_v1.1", text, f"odd{number}")
    write(tmp_path / "logs", "results", whole, "nowhere")
    report, rows = read()
    assert len(rows) == 2
    nowhere = "it lies in no folder training_results_vX.Y or hpc_results_vX.Y"
    assert set(report.unused) == {*odd, nowhere}
    for number, reason in enumerate(odd):
        path = f"training_results_v1.1/Lab/results/odd{number}/any/result_0.txt"
        assert report.unused[reason] == [path]


def test_a_file_of_two_runs_is_two_trials(tmp_path, read):
    first = log("resnet", 4_096, [(0.8, {"epoch_num": 8})], train_samples=1_281_167)
    again = mllog("run_start", None, 20_000) + mllog("eval_accuracy", 0.77, 21_000, epoch_num=9)
    write(tmp_path / "logs", "training_results_v1.0", first + again)
    _, rows = read()
    assert [(row[2], row[4]) for row in rows] == [(0, 2_502), (1, 2_815)]


def test_lines_before_v07_and_strings_and_pairs_are_read(tmp_path, read):
    lines = [
        ':::MLL 1560.500 submission_benchmark: {"value": "maskrcnn", "metadata": {}}',
        ':::MLPv0.6.0 maskrcnn 1560.600 (train.py:3) global_batch_size: {"value": 128}',
        ":::MLL 1560.700 run_start",
        'rank 0: :::MLL 1561.000 train_samples: {"value": 117266, "metadata": {}}',
        ':::MLL 1562.700 eval_accuracy: {"value": ["0.38", 0.35], "metadata": {"epoch_num": 12}}',
        "any other line",
    ]
    write(tmp_path / "logs", "training_results_v0.6", "\n".join(lines))
    report, rows = read()
    assert report.unused == {}
    assert [row[4] for row in rows] == [10_994]  # 12 x 117,266 / 128 = 10,993.7
    assert rows[0][5] == {"val_mask_average_precision": 0.35, "seconds": 2.0}


def test_a_run_has_the_accelerators_of_its_system(tmp_path, read):
    counts = {"large": ("64", "8"), "small": (1, 4), "none": ("1", "N/A"), "odd": (None, None)}
    for number, system in enumerate([*counts, "missing"]):
        text = log("bert", 448, [(0.72, {"epoch_num": 4_480 + number * 448})])
        write(tmp_path / "logs", "training_results_v3.0-0123abc", text, system)
    systems = tmp_path / "logs" / "training_results_v3.0-0123abc" / "Lab" / "systems"
    systems.mkdir()
    for system, (nodes, each) in counts.items():
        described = {"number_of_nodes": nodes, "accelerators_per_node": each}
        (systems / f"{system}.json").write_text(json.dumps(described) * (system != "odd"))
    report, _ = read()
    assert (report.trials, report.unused) == (5, {})
    with dbtool.open(tmp_path / "db") as database:
        text = "SELECT name, (settings->>'accelerators')::DOUBLE FROM trials ORDER BY trial_id"
        found = {name.split("/")[3]: count for name, count in database.sql(text).rows()}
    assert found == {"large": 512, "small": 4, "none": None, "odd": None, "missing": None}


def test_parts_of_a_source_come_one_after_the_other(tmp_path, read):
    first, second = (
        log("resnet", 4_096, [(value, {"epoch_num": 8})] * 2, train_samples=1_281_167)
        for value in (0.8, 0.9)
    )
    write(tmp_path / "logs", "training_results_v3.0-0123abc", first)
    assert read()[0].trials == 1
    (tmp_path / "logs" / "training_results_v3.0-0123abc").rename(
        tmp_path / "logs" / "training_results_v3.0"
    )
    write(tmp_path / "logs", "training_results_v1.0", second)
    report, rows = read()
    assert (report.trials, report.already_there) == (1, 1)
    assert [(row[2], row[5]["val_accuracy"]) for row in rows] == [(0, 0.8), (1, 0.9)]


def test_reference_points_are_runs_to_the_target_each_once(tmp_path):
    point = {"Benchmark": "resnet", "BS": 1_632, "Epochs to converge": [34, 35]}
    point["Hyperparams"] = {"opt_base_learning_rate": 7.4, "opt_momentum": 0.9}
    later = {"Benchmark": "llama31_8b", "BS": 16, "samples to converge": [159_744]}
    lists = {
        "training_1.0.0/rcps_resnet.json": {"resnet_ref_1632": point},
        "training_2.0.0/rcps_resnet.json": {"resnet_ref_1632": point},
        "training_5.1.0/rcps_llama.json": {"llama": later, "odd": {"Benchmark": "chess", "BS": 4}},
    }
    for name, contents in lists.items():
        path = tmp_path / "lists" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(contents))
    report = add_source(public_source("mlperf-reference", tmp_path / "lists"), tmp_path / "db")
    assert report.unused == {
        "steps of the benchmark 'chess' cannot be counted": ["training_5.1.0/rcps_llama.json: odd"]
    }
    with dbtool.open(tmp_path / "db") as database:
        rows = database.sql(
            "SELECT workload, batch_size, trial_id, step, learning_rate FROM measurements "
            "JOIN trials USING (workload, batch_size, trial_id) ORDER BY ALL"
        ).rows()
        of_workloads = [said for *_, said in database.scaling("mlperf/*").statements()]
    assert [said[-1].partition(" ")[0] for said in of_workloads] == ["Steps", "Steps"]
    assert "not verified by MLCommons" in of_workloads[0][-1]
    assert rows == [
        ("mlperf/llama31_8b/v5.1-v6.1", 16, 0, 9_984, None),
        # 34 and 35 x 1,281,167 / 1,632 = 26,690.98 and 27,476.01
        ("mlperf/resnet_50/v0.6-v4.0", 1_632, 0, 26_691, 7.4),
        ("mlperf/resnet_50/v0.6-v4.0", 1_632, 1, 27_476, 7.4),
    ]


def test_the_catalogue_is_sound():
    gpt3 = next(each for each in benchmarks() if each.benchmark == "gpt3")
    definition = gpt3.described().definition
    assert definition is not None
    assert "from a checkpoint" in definition["caveats"][-1]
    for each in benchmarks():
        assert each.first <= each.last
        assert each.why
        assert each.place not in {"epochs", "second_epoch"} or each.train_examples
        assert each.described().goal_inclusive
