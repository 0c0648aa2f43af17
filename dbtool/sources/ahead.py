"""Results in the order of what they are computed from, a few of them ahead of the reader."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

T = TypeVar("T")
Computed = TypeVar("Computed")


def in_order(
    pool: Executor, function: Callable[[T], Computed], items: Iterable[T], most: int
) -> Iterator[Computed]:
    """Yield the result of each item in turn, while a pool computes at most so many later ones."""
    waiting: deque[Future[Computed]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > most:
            yield waiting.popleft().result()
    for each in waiting:
        yield each.result()
