"""Poses, motion, strains and internal stress at any place of a part and at any instant of a result.

Strains are the strain functions at s; poses continue from the node before along the strain (one Magnus step, as in the
recursion), twists by η′ = -ad(ξ)η + ξ̇, which in world axes about a fixed point is the plain integral

    η(s) = η(s_k) + ∫ Ad(g) ξ̇ ds ,     η̇(s) = η̇(s_k) + ∫ (Ad(g) ξ̈ + [η, Ad(g) ξ̇]) ds ,

taken with the four Gauss points of the interval. Internal stress is by balance (:mod:`elver.results.balance`).

Theory: docs/theory/rods.md, eq. (strain-modes), (twist-along-the-rod), (balance).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray

from elver.actuation import ActiveStress, Muscle, Pressure, SpooledTendon, Tendon
from elver.dynamics.quantities import nodes
from elver.errors import BadInput, finite
from elver.kernels.twin.tendon import pull_of_tendon
from elver.lie import se3, so3
from elver.lie.integration import magnus_increment
from elver.mechanism import Part
from elver.results.balance import Wrenches, rod_stress, to_frame, wrenches
from elver.results.history import History, Result, history_of, part_of
from elver.rods import Rod
from elver.rods.fields import Station, station
from elver.system import Inputs, System

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = ["Motion", "body_motion", "rod_motion", "sample"]

Array: TypeAlias = NDArray[np.float64]

_GAUSS_3 = 0.5 * (1.0 + leggauss(3)[0])
_GAUSS_4, _WEIGHTS_4 = 0.5 * (1.0 + leggauss(4)[0]), 0.5 * leggauss(4)[1]
# ∫ from 0 to each of the four points: exact for the polynomials through them
_INNER = np.array([[c ** (k + 1) / (k + 1) for k in range(4)] for c in _GAUSS_4]) @ np.linalg.inv(
    np.vander(_GAUSS_4, 4, increasing=True)
)


def sample(
    result: Result,
    part: Part | str | None = None,
    at: Station | Sequence[Station] | ArrayLike | None = None,
    times: ArrayLike | None = None,
    *,
    system: System | None = None,
    inputs: Inputs | None = None,
) -> xr.Dataset:
    """What a part does at any places and instants of a run, an equilibrium or a state, with names and units.

    ``part`` is a rod or body or its name, the only rod by default. ``at``: for a rod "base", "tip" or s [m], one or
    several, all nodes by default; for a body, points (3,) or (n, 3) [m] in its axes, its origin by default. ``times``
    [s], one or several, must lie within the run; all recorded instants by default. A single place or instant has no
    dimension of its own. ``system`` is needed for a bare State (with its ``inputs``), and for a run loaded from a file
    whose functions cannot be stored.

    Variables, time first: position, velocity, acceleration (world axes), orientation (quaternion, world from section),
    angular_velocity and angular_acceleration (section axes); for a rod also curvature and stretch with their rates,
    and the internal stress Λ = (moment; force) in section axes, which the part beyond s exerts on the part before it:
    of the whole section, tendons, chambers and muscles included, and of its material alone (``moment_material``,
    ``force_material``). ``tension`` is that of each cable where it runs along this rod. Where Λ or a
    strain jumps, the value is that just before it (nearer to the base); at the base just after.
    """
    history, instant = history_of(result, times, system=system, inputs=inputs)
    chosen = part_of(history.system, part)
    if isinstance(chosen, Rod):
        s, single = _places(chosen, at, history.system)
        data = _sample_rod(history, chosen, s)
        place = "s"
    else:
        points, single = _points(chosen, at)
        data = _sample_body(history, list(history.system.mechanism.bodies).index(chosen), points)
        place = "point"
    data = data.assign_attrs(part=chosen.name)
    return data.isel({name: 0 for name, drop in ((place, single), ("time", instant)) if drop})


def _places(rod: Rod, at: Any, system: System) -> tuple[Array, bool]:
    """Arc lengths [m], and whether a single one was asked for."""
    if at is None:
        return nodes(system, rod), False
    single = isinstance(at, str) or np.ndim(at) == 0
    values = [at] if single else list(at)
    return np.array([station(f"places on {rod.name!r}", value, rod.length) for value in values]), single


def _points(body: Any, at: Any) -> tuple[Array, bool]:
    """Points (n, 3) [m] in body axes, and whether it is a single one."""
    if at is None:
        return np.zeros((1, 3)), True
    given = np.asarray(at, dtype=object)
    if given.shape[-1:] != (3,) or given.ndim > 2:
        raise BadInput(f"places on the body {body.name!r}: at = {at!r}; give points (x, y, z) in m, in its axes")
    points = finite(f"places on {body.name!r}", np.atleast_2d(np.asarray(at, dtype=float)), (-1, 3), "m")
    return points, given.ndim == 1


# ---------------------------------------------------------------------------------------------------------------
# Motion
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Motion:
    """Frames at some places, (T, places, …); position and twists in world axes, about the base point."""

    R: Array
    p: Array
    eta: Array
    acc: Array


def body_motion(found: Wrenches, frame: int, points: Array) -> Motion:
    """Of points (n, 3) [m] fixed to a body's frame, in its axes."""
    pose = found.pose[:, frame]
    R = np.broadcast_to(pose[:, None, :3], (len(pose), len(points), 3, 3))
    p = pose[:, None, 3] + np.einsum("tij,kj->tki", pose[:, :3], points)
    eta, acc = (np.broadcast_to(x[:, None, frame], (*p.shape[:2], 6)) for x in (found.eta, found.acc))
    return Motion(R, p, eta, acc)


def rod_motion(found: Wrenches, rod: Rod, index: int, q: Array, s: Array) -> Motion:
    """Of sections of a rod, from the node before along the strain; ``q`` (T, 3, n) is of the rod alone."""
    at = list(found.assembly.rods.values())[index]
    near = np.argmin(np.abs(at.s[None] - s[:, None]), axis=1)
    on_node = np.abs(at.s[near] - s) <= 1e-12 * rod.length
    node = np.where(on_node, near, np.clip(np.searchsorted(at.s, s) - 1, 0, at.s.size - 1))
    frames = at.frames[node]
    R, p = found.pose[:, frames, :3], found.pose[:, frames, 3]
    eta, acc = found.eta[:, frames], found.acc[:, frames]
    h = np.where(on_node, 0.0, s - at.s[node])
    if not np.any(h):
        return Motion(R, p, eta, acc)
    start = se3.pose(R, p)
    stops = np.append(_GAUSS_4, 1.0)
    # strains at the Gauss points of the way from the node to each stop, (T, places, stops, 3, 6)
    where = at.s[node][:, None, None] + h[:, None, None] * stops[:, None] * _GAUSS_3
    xi = _strains(rod, where, q[:, 0], rest=True)
    lengths = (h[:, None] * stops)[None, ..., None]
    g = start[:, :, None] @ se3.exp(magnus_increment(xi[..., 0, :], xi[..., 1, :], xi[..., 2, :], lengths))
    inner = at.s[node][:, None] + h[:, None] * _GAUSS_4
    to_world = se3.Ad(g[:, :, :4])
    rates = [_strains(rod, inner, q[:, jet], rest=False) for jet in (1, 2)]
    y, y_dot = (np.einsum("tsjab,tsjb->tsja", to_world, rate) for rate in rates)
    step = h[None, :, None]
    eta_inner = eta[:, :, None] + step[..., None] * np.einsum("ij,tsjc->tsic", _INNER, y)
    y_dot = y_dot + np.einsum("tsjab,tsjb->tsja", se3.ad(eta_inner), y)
    eta = eta + step * np.einsum("j,tsjc->tsc", _WEIGHTS_4, y)
    acc = acc + step * np.einsum("j,tsjc->tsc", _WEIGHTS_4, y_dot)
    return Motion(g[:, :, 4, :3, :3], g[:, :, 4, :3, 3], eta, acc)


def _strains(rod: Rod, s: Array, q: Array, *, rest: bool) -> Array:
    """ξ, or B Φ q alone, at ``s`` of any shape for each row of ``q`` (T, n): (T, *s.shape, 6)."""
    strain = rod.strain(s.ravel(), q)
    if not rest:
        strain = strain - rod.rest_strain(s.ravel())
    return strain.reshape(len(q), *s.shape, 6)


def _describe(motion: Motion, origin: Array, place: str) -> dict[str, Any]:
    """Position, orientation and their rates as variables."""
    dims = ("time", place, "xyz")
    omega, alpha = motion.eta[..., :3], motion.acc[..., :3]
    velocity = motion.eta[..., 3:] + np.cross(omega, motion.p)
    # of the origin of the section: V' + Ω×V, in world axes
    acceleration = motion.acc[..., 3:] + np.cross(alpha, motion.p) + np.cross(omega, velocity)
    turn = np.swapaxes(motion.R, -1, -2)
    spin, spin_rate = ((turn @ x[..., None])[..., 0] for x in (omega, alpha))
    section = "in axes of the section"
    return {
        "position": (dims, motion.p + origin[:, None], {"units": "m", "long_name": "in the world"}),
        "orientation": (
            ("time", place, "quaternion"),
            so3.to_quaternion(motion.R),
            {"units": "1", "long_name": "world from section, scalar first"},
        ),
        "velocity": (dims, velocity, {"units": "m/s", "long_name": "in world axes"}),
        "acceleration": (dims, acceleration, {"units": "m/s2", "long_name": "in world axes"}),
        "angular_velocity": (dims, spin, {"units": "rad/s", "long_name": section}),
        "angular_acceleration": (dims, spin_rate, {"units": "rad/s2", "long_name": section}),
    }


def _sample_body(history: History, index: int, points: Array) -> xr.Dataset:
    found = wrenches(history)
    motion = body_motion(found, list(found.assembly.bodies.values())[index], points)
    coordinates = {"time": ("time", history.times, {"units": "s"}), "xyz": ["x", "y", "z"]}
    import xarray as xr

    return xr.Dataset(_describe(motion, found.origin, "point"), coordinates)


# ---------------------------------------------------------------------------------------------------------------
# Rods
# ---------------------------------------------------------------------------------------------------------------


def _sample_rod(history: History, rod: Rod, s: Array) -> xr.Dataset:
    found = wrenches(history)
    system = history.system
    index = list(system.mechanism.rods).index(rod)
    q = history.q[:, :, system.coordinates(rod)]
    motion = rod_motion(found, rod, index, q, s)
    inner = list(found.assembly.rods.values())[index].ends[1:-1]
    jump = np.any(np.abs(s[:, None] - inner) <= 1e-12 * rod.length, axis=1)
    seen = np.where(jump, s - 1e-11 * rod.length, s)  # where strains jump, those before it
    xi, xi_dot = _strains(rod, seen, q[:, 0], rest=True), _strains(rod, seen, q[:, 1], rest=False)
    stress = to_frame(motion.R, motion.p, rod_stress(found, index, s))
    tension, names, active = _active_stress(history, rod, s, xi)
    variables = _describe(motion, found.origin, "s")
    dims = ("time", "s", "xyz")
    for name, values, unit, what in (
        ("curvature", xi[..., :3], "1/m", "K, in axes of the section"),
        ("stretch", xi[..., 3:], "1", "Γ, in axes of the section"),
        ("curvature_rate", xi_dot[..., :3], "1/m/s", "rate of K"),
        ("stretch_rate", xi_dot[..., 3:], "1/s", "rate of Γ"),
        ("moment", stress[..., :3], "N m", "what the part beyond exerts, in axes of the section; with actuators"),
        ("force", stress[..., 3:], "N", "what the part beyond exerts, in axes of the section; with actuators"),
        ("moment_material", stress[..., :3] - active[..., :3], "N m", "the same without tendons, chambers, muscles"),
        ("force_material", stress[..., 3:] - active[..., 3:], "N", "the same without tendons, chambers, muscles"),
    ):
        variables[name] = (dims, values, {"units": unit, "long_name": what})
    coordinates: dict[str, Any] = {
        "time": ("time", history.times, {"units": "s"}),
        "s": ("s", s, {"units": "m", "long_name": "arc length of the rest shape"}),
        "xyz": ["x", "y", "z"],
    }
    if names:
        variables["tension"] = (("time", "s", "tendon"), tension, {"units": "N"})
        coordinates["tendon"] = names
    import xarray as xr

    return xr.Dataset(variables, coordinates)


def _active_stress(history: History, rod: Rod, s: Array, xi: Array) -> tuple[Array, list[str], Array]:
    """Tension of each cable along the rod (T, places, cables), names, and Λ_act of all actuators (T, places, 6)."""
    system = history.system
    active = np.zeros(xi.shape)
    tensions, names = [], []
    spooled = [part for part in system.actuators if isinstance(part, SpooledTendon)]
    for part in system.actuators:
        if isinstance(part, Muscle) and part.rod is rod:
            active += history.inputs[:, system.input_index(part), None, None] * part.stress(s)
        if isinstance(part, ActiveStress) and part.rod is rod:
            values = history.inputs[:, system.input_index(part)]
            active += np.stack([part.stress(s, now, float(value)) for now, value in zip(xi, values, strict=True)])
        if not isinstance(part, Tendon | SpooledTendon | Pressure) or not any(own is rod for own in part.rods):
            continue
        if isinstance(part, SpooledTendon):
            T = history.multipliers[:, len(system.multipliers) - len(spooled) + spooled.index(part)]
        else:
            factor = -part.area if isinstance(part, Pressure) else 1.0
            T = factor * history.inputs[:, system.input_index(part)]
        D, D_prime, on = part.geometry(s, rod)
        carried = T[:, None] * on
        active += carried[..., None] * pull_of_tendon(xi, D, D_prime)
        if not isinstance(part, Pressure):
            tensions.append(carried)
            names.append(system.label(part))
    return np.stack(tensions, axis=-1) if tensions else np.zeros((*xi.shape[:2], 0)), names, active
