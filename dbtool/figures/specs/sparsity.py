"""The figures of Lee et al. on data parallelism and sparsity."""

from __future__ import annotations

from dbtool.figures.specs.spec import RELATIVE_STEPS, SPARSITY, FigureSpec

SPARSITY_FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        name="sparsity-steps",
        number=None,
        title="Steps to result against batch size, by sparsity",
        question="Does sparsity change the effect of the batch size?",
        source=SPARSITY,
        kind="steps_to_result",
    ),
    FigureSpec(
        name="sparsity-normalised",
        number=None,
        title="Relative steps to result against batch size, by sparsity",
        question="Do the curves of all sparsities have one shape?",
        source=SPARSITY,
        kind="normalised",
        y_label=RELATIVE_STEPS,
    ),
    FigureSpec(
        name="sparsity-against",
        number=None,
        title="Steps to result against sparsity, by batch size",
        question="How much longer does a sparse network train?",
        source=SPARSITY,
        kind="against",
        x_label="Sparsity (%)",
    ),
    FigureSpec(
        name="sparsity-scatter",
        number=None,
        title="Where trials of a sparse network reach the goal",
        question="Which metaparameters reach the goal when the network is sparse?",
        source=SPARSITY,
        kind="scatter",
        x_label="Learning rate",
        y_label="1 \N{MINUS SIGN} momentum",
    ),
    FigureSpec(
        name="sparsity-lipschitz",
        number=None,
        title="Lipschitz constant of the gradient during training, by sparsity",
        question="Is the gradient of a sparse network less smooth?",
        source=SPARSITY,
        kind="curves",
        x_label="Step",
        y_label="Lipschitz constant",
        in_published=False,
    ),
)
