"""What a sweep tells while it runs, and who hears of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dbtool.core.shards import Shard
from producers.plan import StudyPlan

if TYPE_CHECKING:
    from producers.training.block_record import BlockRecord


@dataclass(frozen=True)
class SweepEvents:
    """What a sweep tells while it runs, and who hears of it.

    Attributes:
        on_block: of a study and trials, before they are trained.
        on_steps: of trial-steps, as they are done.
        on_shard: of a shard, once it is written.
        on_study: of a study, once the last of its blocks that are trained here is written.
        on_record: of what the block in training has measured so far: before its first step, where
            it is what a checkpoint held, after each evaluation and at its end. A Ray cluster's
            workers tell nothing of the kind.
        on_choice: of a sentence on what a study's trials were trained with for want of memory.
        stopping: whether the sweep is to save a checkpoint and stop; looked at after `on_steps`.
    """

    on_block: Callable[[StudyPlan, Sequence[int]], None] = lambda *_: None
    on_steps: Callable[[int], None] = lambda _: None
    on_shard: Callable[[Shard], None] = lambda _: None
    on_study: Callable[[StudyPlan], None] = lambda _: None
    on_record: "Callable[[BlockRecord], None]" = lambda _: None
    on_choice: Callable[[str], None] = lambda _: None
    stopping: Callable[[], bool] = lambda: False


UNHEARD = SweepEvents()
"""Events that nobody hears."""


def together(*heard: SweepEvents) -> SweepEvents:
    """Return events that are heard by all of these, in order; the sweep stops where one says so."""

    def telling(name: str) -> Callable[..., None]:
        def tell(*what: Any) -> None:
            for each in heard:
                getattr(each, name)(*what)

        return tell

    told: dict[str, Any] = {each.name: telling(each.name) for each in fields(SweepEvents)}
    told["stopping"] = lambda: any(each.stopping() for each in heard)
    return SweepEvents(**told)
