"""Results in the order of what they are computed from, a few of them ahead of the reader."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

T = TypeVar("T")
Result = TypeVar("Result")


def in_order(
    pool: Executor, function: Callable[[T], Result], items: Iterable[T], most: int
) -> Iterator[Result]:
    """Yield the result of each item in turn, while a pool computes at most so many later ones."""
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > most:
            yield waiting.popleft().result()
    for each in waiting:
        yield each.result()
