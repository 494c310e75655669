"""A soft arm under everything that acts, and tools to move it along a smooth motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import elver.actuation as ac
import elver.environment as en
import elver.mechanism as me
import elver.rods as er
from elver.lie import se3
from elver.system import State, System

Array = NDArray[np.float64]

SOFT = er.Material(young=4e3, poisson=0.45, density=1000.0, damping=0.05)


def make_rod(basis: er.StrainBasis | None = None, **changes: object) -> er.Rod:
    """A tapered rod, curved at rest."""
    arguments: dict[str, object] = {"rest": (0.3, -0.5, 0.8), "nodes": 8, **changes}
    section = er.Circle(er.Taper(0.05, 0.03))
    return er.Rod(0.8, section, SOFT, basis or er.Legendre.extensible(2), **arguments)  # type: ignore[arg-type]


def make_system(
    rod: er.Rod | None = None,
    foundation: str = "clamped",
    pose: Array | None = None,
    turn: Array | None = None,
    holds: tuple[me.Hold, ...] = (),
) -> System:
    """The rod with gravity, wrenches and a tendon; ``turn`` rotates what is fixed in the world."""
    rod = rod or make_rod()
    Q = np.eye(3) if turn is None else turn
    loads = [
        en.Gravity(tuple(Q @ [1.0, -4.0, -8.0])),
        en.PointWrench(
            rod, force=tuple(Q @ [1.0, -0.5, 0.7]), moment=tuple(Q @ [0.1, 0.2, -0.1]), name="dead"
        ),
        en.PointWrench(rod, at=0.3, force=(0.0, 1.0, 0.5), frame="section", name="follower"),
        en.DistributedWrench(rod, force=tuple(Q @ [0.5, 1.0, -1.0]), start=0.2, end=0.5, name="wind"),
    ]
    tendon = ac.Tendon(rod, ac.helical(0.02, 1.0), name="helix")
    make = {
        "clamped": lambda: me.Mechanism.clamped(rod, pose, holds=holds),
        "free": lambda: me.Mechanism.free(rod, pose, holds=holds),
    }[foundation]
    return System(make(), actuators=[tendon], loads=loads)


def random_state(system: System, seed: int = 0) -> State:
    """A random motion of the system."""
    rng, start, n = np.random.default_rng(seed), system.rest(), system.rod.n
    state = start.with_(
        q=rng.standard_normal(n),
        q_dot=rng.standard_normal(n),
        q_ddot=rng.standard_normal(n),
        multipliers=rng.standard_normal(start.multipliers.size),
    )
    if system.free:
        state = state.with_(eta=rng.standard_normal(6), eta_dot=rng.standard_normal(6))
    return state


def along(state: State, t: float) -> State:
    """The motion q + q' t + ½ q'' t², base g exp(η t + ½ η' t²), at time t, with its exact rates."""
    x, x_dot = state.eta * t + 0.5 * state.eta_dot * t**2, state.eta + state.eta_dot * t
    return state.with_(
        q=state.q + state.q_dot * t + 0.5 * state.q_ddot * t**2,
        q_dot=state.q_dot + state.q_ddot * t,
        g=state.g @ se3.exp(x),
        eta=se3.dexp(x) @ x_dot,
        eta_dot=se3.dexp(x) @ state.eta_dot + se3.d_dexp(x, x_dot) @ x_dot,
    )


def difference(function: Callable[[float], Array], step: float = 2e-3) -> Array:
    """Derivative at 0 by the five-point formula."""
    f = [np.asarray(function(k * step)) for k in (-2, -1, 1, 2)]
    return (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * step)


class Tools:
    """The helpers above, for tests."""

    rod = staticmethod(make_rod)
    system = staticmethod(make_system)
    state = staticmethod(random_state)
    along = staticmethod(along)
    difference = staticmethod(difference)


@pytest.fixture(scope="session")
def tools() -> type[Tools]:
    """``tools.rod``, ``tools.system``, ``tools.state``, ``tools.along``, ``tools.difference``."""
    return Tools
