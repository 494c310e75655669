"""Ends of a moving rod: the base that is given or follows a time scheme, and whether what is held can be held.

A clamped or driven base has its pose, twist and acceleration given. Any other base, free, pinned or guided, moves by
the scheme on SO(3)×R³ (Boyer 2023, eq. 67-72 and appendix 3) with ν = (Θ; d), the increment since the last instant, in
body axes and in world axes; what is held of it, and of the tip, are conditions on poses at the new instant
(:class:`elver.one_rod.shooting.statics.EndCondition`), all else is a condition on the wrench.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elver.dynamics import poses
from elver.errors import BadInput
from elver.lie import se3, so3
from elver.mechanism import Driven, Fixed, Floating, Spherical
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.grid import RodGrid, poses_of
from elver.one_rod.shooting.statics import EndCondition
from elver.one_rod.shooting.time_scheme import Rates, TimeScheme
from elver.system import State

__all__ = ["BaseState", "Root", "base_of", "check_ends", "check_start", "conditions", "residual_at"]

Array = NDArray[np.float64]

_CLOSED = 1e-5  # rad or L: how far a start may be from what is held
_MOVABLE = 1e-12  # of the best held direction: less, and no strain moves it
_NAMES = ("turn about x", "turn about y", "turn about z", "position x", "position y", "position z")


class BaseState(NamedTuple):
    """Pose, twist and acceleration of the base, the first 24 numbers of a state, and their slopes with ν (18, 6)."""

    state: Array
    slopes: Array
    rates: Rates

    @property
    def pose(self) -> Array:
        """(4, 4)."""
        return se3.pose(self.state[:9].reshape(3, 3), self.state[9:12])


class Root(NamedTuple):
    """A base at one instant: pose, and rates of (Θ; p), in body axes and in world axes, each (6,)."""

    pose: Array
    rates: Rates

    @classmethod
    def at(cls, g: Array, eta: Array, eta_dot: Array) -> Root:
        """From twist and acceleration in body axes."""
        R = g[:3, :3]
        first = np.concatenate([eta[:3], R @ eta[3:]])
        second = np.concatenate([eta_dot[:3], R @ (eta_dot[3:] + np.cross(eta[:3], eta[3:]))])
        return cls(g, Rates(first, second, second))

    def given(self, problem: RodProblem, grid: RodGrid, t: float) -> BaseState:
        """The base where the mechanism puts it at ``t`` [s]."""
        return BaseState(_flat(*_prescribed(grid, problem.base.pose, t)), np.zeros((18, 6)), self.rates)

    def moved(self, nu: Array, scheme: TimeScheme) -> BaseState:
        """The base moved by ν, with rates of the scheme."""
        rates = scheme.after(nu, self.rates)
        a, b = scheme.a, scheme.b
        R = self.pose[:3, :3] @ so3.exp(nu[:3])
        p = self.pose[:3, 3] + nu[3:]
        W, V, A = rates.first[:3], R.T @ rates.first[3:], R.T @ rates.second[3:]
        T = so3.dexp(nu[:3])
        slopes = np.zeros((18, 6))
        slopes[:3, :3], slopes[3:6, 3:] = T, R.T
        slopes[6:9, :3] = a * np.eye(3)
        slopes[9:12, :3], slopes[9:12, 3:] = so3.hat(V) @ T, a * R.T
        slopes[12:15, :3] = b * np.eye(3)
        slopes[15:18, :3] = (so3.hat(A) - so3.hat(W) @ so3.hat(V)) @ T + a * so3.hat(V)
        slopes[15:18, 3:] = (b * np.eye(3) - a * so3.hat(W)) @ R.T
        acceleration = np.concatenate([rates.second[:3], A - np.cross(W, V)])
        return BaseState(_flat(se3.pose(R, p), np.concatenate([W, V]), acceleration), slopes, rates)


def _flat(g: Array, eta: Array, eta_dot: Array) -> Array:
    return np.concatenate([g[:3, :3].ravel(), g[:3, 3], eta, eta_dot])


def _prescribed(grid: RodGrid, pose: Array, t: float) -> tuple[Array, Array, Array]:
    """Pose, twist and acceleration of a clamped or driven base."""
    base = grid.system.mechanism.base
    if not isinstance(base, Driven):
        return pose, np.zeros(6), np.zeros(6)
    g, eta, eta_dot = base.motion.at(t)
    carry = se3.Ad(se3.inverse(pose) @ g)  # the rod may sit beside the frame that is driven
    return pose, carry @ eta, carry @ eta_dot


def base_of(grid: RodGrid, state: State, problem: RodProblem) -> tuple[Array, Array, Array]:
    """Pose, twist and acceleration of the base of the rod in a state of the system."""
    system = grid.system
    if problem.base.is_clamped:
        return _prescribed(grid, problem.base.pose, state.time)
    joint = next(joint for joint in system.mechanism.joints if joint.a.part is not joint.b.part)
    g = np.array(poses(system, state)[0])
    child = joint.b if joint.a.part == "world" else joint.a
    if isinstance(joint, Floating) and child.s == 0.0:
        carry = se3.Ad(se3.inverse(g) @ state.g)
        return g, carry @ state.eta, carry @ state.eta_dot
    if isinstance(joint, Spherical) and child.s == 0.0 and joint.a.part == "world":
        at = system.coordinates(joint)
        theta, rate, second = state.q[at], state.q_dot[at], state.q_ddot[at]
        R = child.g[:3, :3]
        still = np.zeros(3)
        turn = R @ so3.dexp(theta) @ rate
        spin = R @ (so3.dexp(theta) @ second + so3.d_dexp(theta, rate) @ rate)
        return g, np.concatenate([turn, still]), np.concatenate([spin, still])
    if np.any(state.q_dot) or np.any(state.q_ddot) or np.any(state.eta) or np.any(state.eta_dot):
        raise BadInput(f"shooting_dynamics: {joint.label} carries the rod by its tip; start such a rod at rest")
    return g, np.zeros(6), np.zeros(6)


def conditions(grid: RodGrid, problem: RodProblem) -> tuple[EndCondition, EndCondition]:
    """What is held and loaded at the base and at the tip."""
    L, EI = problem.length, grid.bending
    return (
        EndCondition(problem.base, problem.base_wrench, -1.0, L, EI),
        EndCondition(problem.tip, problem.tip_wrench, 1.0, L, EI),
    )


def residual_at(condition: EndCondition, g: Array, x: Array) -> tuple[Array, Array]:
    """Six conditions at an end with pose ``g`` and stress ``x``, and their slopes (6, 12) with (ζ, Λ).

    Of an end where nothing is held the balance stays in body axes: in world axes it is no longer linear in Λ, which
    costs Newton its way where the guess is bad.
    """
    if condition.end.held:
        return condition(g, x)
    F, slope = condition.wrench.at(g)
    unit = np.array([condition.length] * 3 + [condition.length**2] * 3) / condition.stiffness
    rows = np.hstack([-condition.sign * slope, np.eye(6)])
    return unit * (x - condition.sign * F), unit[:, None] * rows


# Checks -----------------------------------------------------------------------------------------------------------


def check_ends(grid: RodGrid) -> None:
    """What ends no motion by shooting is there for."""
    problem, mechanism = grid.problem, grid.system.mechanism
    if problem.closed and not problem.base.is_clamped:
        raise BadInput("shooting_dynamics: the rod is a ring that is nowhere clamped; clamp its base, or use simulate")
    if isinstance(mechanism.base, Driven) and not problem.base.is_clamped:
        raise BadInput(
            f"shooting_dynamics: the base is driven with {problem.base.name}; fix the rod to it, or use simulate"
        )
    if grid.water is not None and problem.tip.held:
        raise BadInput("shooting_dynamics: Lighthill's tail sheds its wake freely, so it cannot be held; free the tip")
    turns = [joint for joint in mechanism.joints if isinstance(joint, Fixed) and joint.a.part is joint.b.part]
    if turns and not problem.closed:
        raise BadInput(f"shooting_dynamics: {turns[0].label} is a loop that is no ring; use simulate")


def check_start(grid: RodGrid, problem: RodProblem, path: Array) -> None:
    """The start meets what is held, and strains of the rod can move all that is held of the tip."""
    L = problem.length
    g = poses_of(grid.join(path))
    rows = []
    for where, condition, pose in zip(("base", "tip"), conditions(grid, problem), (g[0], g[-1]), strict=True):
        end = condition.end
        held = [*end.rotation_axes, *(3 + j for j in end.position_axes)]
        place, slope = condition.pairs(pose, np.zeros(6))[0]
        rows.append((held, slope[held][:, :6]))
        if held and np.max(np.abs(place[held])) > _CLOSED:
            k = max(held, key=lambda j: abs(place[j]))
            amount = f"{place[k]:.2g} rad" if k < 3 else f"{place[k] * L:.2g} m"
            raise BadInput(
                f"shooting_dynamics: the start is open: {_NAMES[k]} of the {where} is {amount} from where it is held; "
                "start from equilibrium(system, ...).state, or from assemble(system)"
            )
    held, P = rows[1]
    if not held:
        return
    # Gramian of the tip: what strains, and a base that may move, do to its pose
    carry = se3.Ad(se3.inverse(g[-1]) @ g)
    columns = carry * (grid.active / grid.strain_unit)
    gramian = np.einsum("nij,nkj->ik", columns, columns) * L**2 / len(g)
    if not problem.base.is_clamped:
        free = np.linalg.svd(rows[0][1])[2][len(rows[0][0]) :] if rows[0][0] else np.eye(6)
        motion = carry[0] @ free.T
        gramian = gramian + motion @ motion.T
    values, vectors = np.linalg.eigh(P @ gramian @ P.T)
    if values[0] < _MOVABLE * values[-1]:
        k = held[int(np.argmax(np.abs(vectors[:, 0])))]
        raise BadInput(
            f"shooting_dynamics: the {_NAMES[k]} of the tip is held, and no free strain of the rod moves it from here, "
            "so that the reaction is undetermined; leave it free in Hold(...), or add a strain to the basis "
            "(a straight rod needs stretch where both its ends are held along it)"
        )
