"""The command that prints steps to result."""

from dbtool.cli.options import (
    BatchSizes,
    Database,
    Format,
    Goal,
    Limit,
    Metric,
    OutputFormat,
    Release,
    Trials,
    Workloads,
)
from dbtool.store.questions import FIRST_TRIALS


def command(
    workload: Workloads,
    *,
    goal: Goal = None,
    metric: Metric = None,
    trials: Trials = FIRST_TRIALS,
    batch_size: BatchSizes = None,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """Print the steps to result of a workload at each batch size.

    Steps to result are the fewest steps that any of a study's first COMPLETE trials took to get
    strictly past the goal (or to it, where the workload's goal is inclusive). They are empty where
    no trial did.

    Example: dbtool steps 'mnist/*' --goal 0.05 --metric val_classification_error
    """
    from dbtool.cli.database import print_answer, reading
    from dbtool.store import questions

    with reading(db, release) as database:
        question = questions.steps_to_result(
            database,
            workload,
            goal=goal,
            metric=metric,
            trials=trials,
            batch_size=batch_size or None,
            release=release,
        )
        print_answer(database, question, output_format, limit)
