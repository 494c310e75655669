"""Chains in the modified Denavit-Hartenberg parameters of Khalil and Kleinfinger: one table, one chain of joints.

    g_{j-1,j} = Rot(x, α_j) Trans(x, d_j) Rot(z, θ_j) Trans(z, r_j)

α_j is the angle from z_{j-1} to z_j about x_{j-1}, d_j the distance along x_{j-1}, θ_j the angle from x_{j-1} to x_j
about z_j, r_j the distance along z_j. A revolute joint has θ_j = q_j + θ, a prismatic one r_j = q_j + r; joint j moves
along or about z_j, and the frame of body j is frame Σ_j of the table.

W. Khalil, J.-F. Kleinfinger, "A new geometric notation for open and closed-loop robots", ICRA 1986; used for a
swimmer with a free head in W. Khalil, G. Gallot, F. Boyer, "Dynamic modeling and simulation of a 3-D serial eel-like
robot", IEEE Trans. SMC-C 37 (2007). In the classical parameters of Denavit and Hartenberg the order is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from elver.bodies import RigidBody
from elver.errors import BadInput, finite
from elver.lie import se3
from elver.mechanism.frame import Frame
from elver.mechanism.joints import Prismatic, Revolute
from elver.rods.fields import Array, check_name
from elver.words import describe

__all__ = ["MDHRow", "mdh_chain"]


@dataclass(frozen=True)
class MDHRow:
    """One row of a table of modified Denavit-Hartenberg parameters.

    ``alpha`` [rad] and ``d`` [m] from z_{j-1} to z_j, about and along x_{j-1}; ``theta`` [rad] and ``r`` [m] from
    x_{j-1} to x_j, about and along z_j, where the coordinate is zero. The coordinate adds to theta or, if
    ``prismatic``, to r.
    """

    alpha: float
    d: float
    theta: float
    r: float
    prismatic: bool = False

    def __post_init__(self) -> None:
        for name, unit in (("alpha", "rad"), ("d", "m"), ("theta", "rad"), ("r", "m")):
            value = float(finite(f"{name} of a row", getattr(self, name), (), unit))
            if unit == "rad" and abs(value) > 4.0 * np.pi:
                raise BadInput(
                    f"{name} of a row = {value:g} rad is more than two turns: angles are in radians, not degrees"
                )
            object.__setattr__(self, name, value)
        if not isinstance(self.prismatic, bool | np.bool_):
            raise BadInput(
                f"prismatic of a row = {describe(self.prismatic)}: give True where r moves, False where theta does"
            )
        object.__setattr__(self, "prismatic", bool(self.prismatic))

    @property
    def g_before_joint(self) -> Array:
        """What stands before the joint, Rot(x, α) Trans(x, d) Rot(z, θ) at zero coordinate, (4, 4)."""
        # A turn about x and a shift along x commute: one screw.
        return se3.exp([self.alpha, 0.0, 0.0, self.d, 0.0, 0.0]) @ se3.exp([0.0, 0.0, self.theta, 0.0, 0.0, 0.0])

    def pose(self, q: float = 0.0) -> Array:
        """g_{j-1,j} (4, 4) at the coordinate ``q`` [rad, or m if prismatic]."""
        q = float(finite("q of a row", q, (), "m" if self.prismatic else "rad"))
        angle, shift = (0.0, self.r + q) if self.prismatic else (q, self.r)
        return self.g_before_joint @ se3.exp([0.0, 0.0, angle, 0.0, 0.0, shift])


def mdh_chain(
    bodies: Sequence[RigidBody | Literal["world"]], rows: Iterable[MDHRow], name: str = "joint"
) -> tuple[Revolute | Prismatic, ...]:
    """Joints of a chain: row j joins bodies[j-1] to bodies[j], whose frame is Σ_j of the table.

    ``bodies[0]`` is "world", or the body that carries the chain, such as a head that floats; there is one more of
    them than of ``rows``. The joints are called joint-1, joint-2, …, or after another ``name``.

    >>> joints = mdh_chain(["world", arm, hand], [MDHRow(0.0, 0.0, 0.0, 0.3), MDHRow(np.pi / 2, 0.2, 0.0, 0.0)])
    >>> robot = Mechanism(joints)
    """
    check_name("chain", name)
    bodies, rows = _listed("bodies", bodies), _listed("rows", rows)
    for j, body in enumerate(bodies):
        if not isinstance(body, RigidBody) and not (j == 0 and isinstance(body, str) and body == "world"):
            asked = 'give "world" or a RigidBody' if j == 0 else "give a RigidBody"
            raise BadInput(f"bodies[{j}] of the chain = {describe(body)}: {asked}")
    for j, row in enumerate(rows):
        if not isinstance(row, MDHRow):
            raise BadInput(f"rows[{j}] of the chain = {describe(row)}: give MDHRow(alpha, d, theta, r)")
    if not rows or len(rows) != len(bodies) - 1:
        raise BadInput(
            f"a chain of {len(bodies)} bodies and {len(rows)} rows: give one row for each body but the first, which "
            "carries the chain"
        )
    joints: list[Revolute | Prismatic] = []
    for j, (row, a, b) in enumerate(zip(rows, bodies[:-1], bodies[1:], strict=True), start=1):
        kind = Prismatic if row.prismatic else Revolute
        foot = Frame(b, pose=(0.0, 0.0, -row.r))
        joints.append(kind(Frame(a, pose=row.g_before_joint), foot, name=f"{name}-{j}", axis="z"))
    return tuple(joints)


def _listed(what: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | RigidBody | MDHRow) or not isinstance(values, Iterable):
        raise BadInput(f"{what} of the chain = {describe(values)}: give a list")
    return tuple(values)
