"""Names that are unique: of channels, joints and holds, so that a result or an input means one thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count

__all__ = ["first_free", "numbered"]


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once: those given several times are numbered from 1, past what is a name already.

    >>> numbered(["a", "a", "b"]), numbered(["a", "a", "a-1"])
    (('a-1', 'a-2', 'b'), ('a-2', 'a-3', 'a-1'))
    """
    total = Counter(names)
    taken, unique = set(total), []
    for name in names:
        if total[name] > 1:
            name = first_free(name, 1, taken)
            taken.add(name)
        unique.append(name)
    return tuple(unique)


def first_free(stem: str, first: int, taken: Iterable[str]) -> str:
    """``stem-k`` with the smallest k from ``first`` on that is not taken."""
    taken = set(taken)
    return next(name for k in count(first) if (name := f"{stem}-{k}") not in taken)
