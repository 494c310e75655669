"""A mechanism: one rod, what its base does, and where it is held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from numpy.typing import ArrayLike

from elver.errors import BadInput
from elver.mechanism.base import _IDENTITY, Base, Clamped, Driven, Free, Motion, Rows
from elver.mechanism.hold import Hold
from elver.rods import Rod

__all__ = ["Mechanism"]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A rod with its base and its holds; build one with :meth:`clamped`, :meth:`free` or :meth:`driven`."""

    rod: Rod
    base: Base = Clamped()  # noqa: RUF009 (a frozen value)
    holds: tuple[Hold, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.rod, Rod):
            raise BadInput(f"rod = {self.rod!r}: give a Rod")
        if not isinstance(self.base, Base):
            raise BadInput(f"base = {self.base!r}: give Clamped(pose), Free(pose) or Driven(motion)")
        holds = (self.holds,) if isinstance(self.holds, Hold) else tuple(self.holds)
        object.__setattr__(self, "holds", holds)
        names = [hold.name for hold in holds if isinstance(hold, Hold)]
        for hold in holds:
            if not isinstance(hold, Hold):
                raise BadInput(
                    f"holds contains {hold!r}: give Hold(at=..., position=... [m], orientation=...)"
                )
            if hold.s(self.rod.length) == 0.0 and not isinstance(self.base, Free):
                raise BadInput(
                    f"{hold.label} (s = 0 m): this base is already prescribed; "
                    "hold another section, or use Mechanism.free"
                )
            if hold.name is not None and names.count(hold.name) > 1:
                raise BadInput(f"two holds are named {hold.name!r}: give each its own name=...")

    @classmethod
    def clamped(cls, rod: Rod, pose: ArrayLike | None = None, holds: Iterable[Hold] = ()) -> Self:
        """Base fixed at ``pose`` (4 x 4 world-from-base, identity by default)."""
        return cls(rod, Clamped(_given(pose)), _several(holds))

    @classmethod
    def free(cls, rod: Rod, pose: ArrayLike | None = None, holds: Iterable[Hold] = ()) -> Self:
        """Base free to move; ``pose`` (4 x 4 world-from-base) is where it starts."""
        return cls(rod, Free(_given(pose)), _several(holds))

    @classmethod
    def driven(cls, rod: Rod, motion: Motion, holds: Iterable[Hold] = ()) -> Self:
        """Base that follows ``motion``."""
        return cls(rod, Driven(motion), _several(holds))


def _given(pose: ArrayLike | None) -> Rows:
    # Clamped and Free check the pose and turn it into rows.
    return _IDENTITY if pose is None else pose  # type: ignore[return-value]


def _several(holds: Iterable[Hold] | Hold) -> tuple[Hold, ...]:
    return (holds,) if isinstance(holds, Hold) else tuple(holds)
