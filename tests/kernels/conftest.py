"""Robots of every kind, small and soft, so that inertia, gravity, loads and stiffness all show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import elver.actuation as ac
import elver.environment as en
import elver.mechanism as me
import elver.rods as er
from elver.dynamics.core import Core
from elver.dynamics.states import Arrays, arrays
from elver.kernels.build.cache import cache_folder
from elver.lie import se3, so3
from elver.system import State, System

Array = NDArray[np.float64]

SOFT = er.Material(young=4e3, poisson=0.45, density=1000.0, damping=0.05)
SAMPLES = np.linspace(0.0, 0.8, 7)
TABLE = np.stack([np.cos(2.0 * SAMPLES), SAMPLES**2], axis=1)

BASES = {
    "legendre planar": er.Legendre.planar(3),
    "legendre kirchhoff": er.Legendre.kirchhoff(2),
    "legendre extensible": er.Legendre.extensible(2),
    "legendre reissner": er.Legendre.reissner(2),
    "legendre odd set": er.Legendre(bending=0, torsion=0, bending_y=2, shear_z=1, stretch=1),
    "chebyshev reissner": er.Chebyshev.reissner(1),
    "chebyshev kirchhoff": er.Chebyshev.kirchhoff(3),
    "piecewise constant": er.PiecewiseConstant.kirchhoff(3),
    "piecewise linear": er.PiecewiseLinear.extensible(2),
    "sampled": er.Sampled(tuple(SAMPLES), torsion=TABLE[:, :1], bending_z=TABLE),
}
SECTIONS = {
    "circle": er.Circle(0.04),
    "tapered circle": er.Circle(er.Taper(0.05, 0.03)),
    "rectangle": er.Rectangle(0.06, er.Taper(0.08, 0.04)),
}
RESTS = {
    "straight": None,
    "curved": (0.4, -0.7, 1.1),
    "varied": lambda s: np.stack([s, 1.0 - s, s**2], axis=1),
}
SCHEMES = {"magnus 4": er.Magnus(4), "magnus 6": er.Magnus(6), "rkmk": er.RungeKuttaMuntheKaas()}
FOUNDATIONS = ("clamped", "free", "driven")


def _motion(t: float) -> Array:
    return se3.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3]) * np.sin(1.0 + t))


def parts(rod: er.Rod) -> dict[str, object]:
    """Every actuator and load there is."""
    return {
        "gravity": en.Gravity((1.0, -4.0, -8.0)),
        "dead tip wrench": en.PointWrench(rod, force=(1.0, -0.5, 0.7), moment=(0.1, 0.2, -0.1), name="dead"),
        "dead wrench inside": en.PointWrench(
            rod, at=0.31, force=(0.2, 0.5, -0.7), moment=(0.1, 0.0, 0.0), name="inside"
        ),
        "follower": en.PointWrench(
            rod, force=(-1.0, 0.4, 0.2), moment=(0.0, 0.2, 0.0), frame="section", name="follower"
        ),
        "distributed": en.DistributedWrench(
            rod,
            force=lambda s: np.stack([s, 1.0 - s, 0.0 * s], axis=1),
            moment=(0.1, 0.2, 0.3),
            start=0.2,
            end=0.6,
        ),
        "distributed follower": en.DistributedWrench(
            rod, force=(0.5, 1.0, -1.0), frame="section", name="wind"
        ),
        "tendon": ac.Tendon(rod, ac.helical(0.02, 1.0), name="helix"),
        "short tendon": ac.Tendon(rod, ac.convergent(0.02, -0.01), end=0.5, name="short"),
        "pressure": ac.Pressure(rod, 1e-3, ac.parallel(-0.02, 0.01)),
        "muscle": ac.Muscle(rod, torque=lambda s: np.stack([s, s**2, 1.0 - s], axis=1)),
        "spool": ac.SpooledTendon(rod, ac.parallel(0.01, 0.02), name="spool"),
        "hold tip": me.Hold(at="tip", position=(0.5, None, 0.2), orientation=so3.exp([0.2, -0.3, 0.4])),
        "hold inside": me.Hold(
            at=0.45, position=(0.4, 0.1, 0.1), orientation=so3.exp([2.0, 0.5, -0.4]), orientation_axes="xz"
        ),
    }


ALL_PARTS = tuple(parts(er.Rod(0.8, er.Circle(0.04), SOFT, er.Legendre.planar(1))))
INPUTS = {"helix": 1.5, "short": 0.7, "pressure": 400.0, "spool": 0.01, "gravity": 0.9, "muscle": 0.3}


@dataclass(frozen=True)
class Robot:
    """A system at a random motion, in the layout of the kernels."""

    system: System
    core: Core
    state: State
    inputs: Array

    @property
    def arrays(self) -> Arrays:
        return arrays(self.state)

    def residual(self, **changes: Array) -> Array:
        """R with some fields of the state replaced."""
        return self.core.residual(arrays(self.state.with_(**changes)), self.inputs)

    def moved(self, direction: Array, weights: Array, amount: float) -> Array:
        """R with all unknowns moved by ``amount`` along ``direction``: poses by w_0, rates by w_1, w_2."""
        state, free = self.state, self.core.coordinates - self.core.n
        base, q, multipliers = np.split(amount * direction, [free, self.core.coordinates])
        changes = {
            "q": state.q + weights[0] * q,
            "q_dot": state.q_dot + weights[1] * q,
            "q_ddot": state.q_ddot + weights[2] * q,
            "multipliers": state.multipliers + multipliers,
        }
        if free:
            changes["g"] = state.g @ se3.exp(weights[0] * base)
            changes["eta"] = state.eta + weights[1] * base
            changes["eta_dot"] = state.eta_dot + weights[2] * base
        return self.residual(**changes)


def build(
    basis: str = "legendre kirchhoff",
    section: str = "tapered circle",
    rest: str = "curved",
    scheme: str = "magnus 6",
    foundation: str = "clamped",
    chosen: tuple[str, ...] = ALL_PARTS,
    seed: int = 0,
    nodes: int | None = 4,
) -> Robot:
    """A robot from the names of its ingredients, at a random motion."""
    rng = np.random.default_rng(seed)
    rod = er.Rod(
        0.8, SECTIONS[section], SOFT, BASES[basis], rest=RESTS[rest], nodes=nodes, integration=SCHEMES[scheme]
    )
    picked = {name: part for name, part in parts(rod).items() if name in chosen}
    holds = [part for part in picked.values() if isinstance(part, me.Hold)]
    pose = se3.exp(rng.standard_normal(6))
    mechanism = {
        "clamped": lambda: me.Mechanism.clamped(rod, pose, holds=holds),
        "free": lambda: me.Mechanism.free(rod, pose, holds=holds),
        "driven": lambda: me.Mechanism.driven(rod, me.Motion(_motion), holds=holds),
    }[foundation]()
    loads = [p for p in picked.values() if isinstance(p, en.Gravity | en.PointWrench | en.DistributedWrench)]
    actuators = [p for p in picked.values() if p not in holds and p not in loads]
    system = System(mechanism, actuators=actuators, loads=loads)
    start, n = system.rest(), rod.n
    state = start.with_(
        q=rng.standard_normal(n),
        q_dot=rng.standard_normal(n),
        q_ddot=rng.standard_normal(n),
        multipliers=rng.standard_normal(start.multipliers.size),
    )
    if foundation == "free":
        state = state.with_(eta=rng.standard_normal(6), eta_dot=rng.standard_normal(6))
    known = {name: value for name, value in INPUTS.items() if name in system.channel_names}
    inputs = system.input_vector(system.signals(known), 0.0)
    return Robot(system, Core(system), state, inputs)


@pytest.fixture(scope="session")
def robot() -> Callable[..., Robot]:
    """Builder of robots: ``robot(basis=..., foundation=..., chosen=...)``."""
    return build


@pytest.fixture
def rng() -> Iterator[np.random.Generator]:
    """Repeatable random numbers."""
    return np.random.default_rng(7)


@pytest.fixture
def stored() -> Callable[[], dict[str, int]]:
    """Files of compiled code, with the time at which each was written."""
    return lambda: {path.name: path.stat().st_mtime_ns for path in cache_folder.iterdir()}
