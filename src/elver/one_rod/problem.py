"""One rod as a problem along its length: the fields, loads and end conditions that optimal control methods ask for.

A :class:`System` of one rod becomes functions of the arc length s, without strain modes:

    minimise ∫ W(ξ-ξ₀) + (energy of actuators and loads) ds   subject to g′ = g ξ̂, ξ = ξ₀ + B u(s)

(OCP1 of F. Boyer et al. 2023, eq. 18; F. Blumentals 2017, section 5), W the energy of the section law, ½ εᵀ𝓗ε where it
is linear. What is left out of B keeps its rest value.

    Λ = Λ_act(s, ξ) + ∂W/∂ε,   Λ_act = Σ T (D × c; c)/|c| + muscles,   c = Γ + K × D + D′
    F̄ = 𝓜 (0; Rᵀγ) + Σ densities,   Λ(L) = F_tip,   Λ(0) = -F_base

Six-vectors are angular first, in the axes of the section. Every function of s is vectorised: s (n,) in m. At an end of
the rod each of six components is either held (pose) or loaded (wrench), see :class:`End`.

Theory: docs/theory/optimal-control.md, eq. (least-energy).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elver.actuation import Muscle, Pressure, Tendon
from elver.environment import DistributedWrench, Gravity, PointWrench
from elver.errors import BadInput, finite, positive
from elver.guards import check_system
from elver.kernels.twin.tendon import pull_of_tendon, stiffening_of_tendon, stretch_of_tendon
from elver.lie import se3, so3
from elver.mechanism import Clamped, Driven, Fixed, Floating, Frame, Hold, Joint, Spherical
from elver.rods import Rod, SectionLaw
from elver.rods.fields import arc_lengths
from elver.statics.moving import STILL
from elver.system import Inputs, System
from elver.words import brief

__all__ = ["Density", "End", "EndWrench", "Pull", "RodProblem", "Sections"]

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
FieldOf: TypeAlias = Callable[[Array], Array]
Geometry: TypeAlias = Callable[[Array], tuple[Array, Array, Mask]]

_ALL = (0, 1, 2)
_ALONG = ("s", "stiffness", "rest_strain", "weight", "dead", "follower", "muscle", "D", "D_prime", "here")


class Density(NamedTuple):
    """A wrench per metre: ``density(s)`` (n, 6), in section axes if it ``follows``, else in world axes."""

    density: FieldOf
    follows: bool


class Pull(NamedTuple):
    """A tendon: ``tension`` [N], negative for a pressure chamber; ``geometry(s)``: D, D′ (n, 3), where it acts (n,)."""

    tension: float
    geometry: Geometry


class EndWrench(NamedTuple):
    """Sum of the wrenches on one end: ``dead`` (6,) in world axes and ``follower`` (6,) in section axes."""

    dead: Array
    follower: Array

    def at(self, g: Array) -> tuple[Array, Array]:
        """F (6,) in section axes at the pose ``g`` (4, 4), and dF/dζ (6, 6) for δg = g ζ̂."""
        R = g[:3, :3]
        moment, force = R.T @ self.dead[:3], R.T @ self.dead[3:]
        slope = np.zeros((6, 6))
        slope[:3, :3], slope[3:, :3] = so3.hat(moment), so3.hat(force)
        return np.concatenate([moment, force]) + self.follower, slope


_NO_WRENCH = EndWrench(np.zeros(6), np.zeros(6))


@brief
@dataclass(frozen=True, eq=False)
class End:
    """What is held at one end of the rod.

    ``rotation_axes`` are components (0, 1, 2) of log(R_holdᵀ R) that are zero, ``position_axes`` world axes along which
    p is held; (R_hold, p_hold) = ``pose`` (4, 4). All six: clamped. None: free. Three positions: a ball joint. Of a
    free end the pose is where it starts.
    """

    pose: Array = field(default_factory=lambda: np.eye(4))
    rotation_axes: tuple[int, ...] = ()
    position_axes: tuple[int, ...] = ()

    @classmethod
    def clamped(cls, pose: ArrayLike | None = None) -> End:
        """All six components held at ``pose`` (4, 4), the identity by default."""
        return cls(np.eye(4) if pose is None else np.array(pose, dtype=float), _ALL, _ALL)

    @property
    def held(self) -> int:
        """Number of held components, 0 to 6."""
        return len(self.rotation_axes) + len(self.position_axes)

    @property
    def is_clamped(self) -> bool:
        """True when all six components are held."""
        return self.held == 6

    @property
    def name(self) -> str:
        """In words: clamped, free, or what is held."""
        if self.held in (0, 6):
            return "clamped" if self.held else "free"
        rotations = "".join("xyz"[i] for i in self.rotation_axes)
        positions = "".join("xyz"[i] for i in self.position_axes)
        held = [rotations and f"turns about {rotations}", positions and f"position {positions}"]
        return " and ".join(text for text in held if text) + " held"


@dataclass(frozen=True, eq=False)
class Sections:
    """Fields of a problem at given arc lengths, evaluated once: arrays with the axis of ``s`` (n,) first."""

    s: Array
    component: tuple[int, ...]
    stiffness: Array
    rest_strain: Array
    weight: Array
    """𝓜 γ: force of gravity per metre in world axes, (n, 3) [N/m]."""
    dead: Array
    follower: Array
    muscle: Array
    tensions: Array
    D: Array
    """Paths of the tendons, (n, tendons, 3), with D′ in ``D_prime`` and where they act in ``here`` (n, tendons)."""
    D_prime: Array
    here: Array
    law: SectionLaw | None = None

    @property
    def pulled(self) -> bool:
        """True when a tendon or chamber acts somewhere."""
        return bool(self.tensions.size)

    @property
    def turns(self) -> bool:
        """True when a load depends on the pose of its section."""
        return bool(np.any(self.weight) or np.any(self.dead))

    def __getitem__(self, rows: Any) -> Sections:
        """The same fields at some of the arc lengths."""
        own = {name: getattr(self, name)[rows] for name in _ALONG}
        return replace(self, **own)

    def actuation(self, xi: Array, *, slopes: bool = True) -> tuple[Array, Array]:
        """Λ_act (n, 6) at the strains ``xi`` (n, 6), and ∂Λ_act/∂ξ (n, 6, 6), symmetric, ≥ 0 for tendons.

        :mod:`elver.kernels.twin.tendon` has their law.
        """
        n = self.s.size
        stress, slope = self.muscle.copy(), np.zeros((n, 6, 6))
        for k, tension in enumerate(self.tensions):
            at, here = (xi, self.D[:, k], self.D_prime[:, k]), tension * self.here[:, k]
            stress += here[:, None] * pull_of_tendon(*at)
            if slopes:
                slope += here[:, None, None] * stiffening_of_tendon(*at)
        return stress, slope

    def stress(self, xi: Array) -> tuple[Array, Array]:
        """Λ_act + ∂W/∂ε (n, 6) and its slope (n, 6, 6) with ξ; only free strains have a law, see ``component``."""
        stress, slope = self.actuation(xi)
        elastic, more, _ = self.elasticity(xi)
        return stress + elastic, slope + more

    def elasticity(self, xi: Array) -> tuple[Array, Array, Array]:
        """What the section law says at the strains ``xi`` (n, 6): stress (n, 6), slope (n, 6, 6), energy W (n,) [J/m].

        Strains that are not free have none.
        """
        strain = np.zeros_like(xi)
        free = list(self.component)
        strain[:, free] = (xi - self.rest_strain)[:, free]
        if self.law is not None:
            return self.law.elasticity(self.s, strain)
        stress, slope = self.stiffness * strain, np.zeros((*xi.shape, 6))
        slope[:, range(6), range(6)] = self.stiffness
        return stress, slope, 0.5 * np.sum(stress * strain, axis=1)

    def rest_stiffness(self) -> Array:
        """𝓗 (n, 6, 6): the slope of the section law at rest."""
        return self.elasticity(self.rest_strain)[1]

    def actuation_energy(self, xi: Array) -> Array:
        """Energy of actuators per metre at the strains ``xi``: Σ T |c| + Λ_muscleᵀ(ξ-ξ₀), (n,) [J/m].

        Its gradient with ξ is Λ_act.
        """
        energy = np.sum(self.muscle * (xi - self.rest_strain), axis=1)
        for k, tension in enumerate(self.tensions):
            energy += tension * self.here[:, k] * stretch_of_tendon(xi, self.D[:, k], self.D_prime[:, k])
        return energy

    def body_load(self, g: Array) -> tuple[Array, Array]:
        """F̄ (n, 6) at the poses ``g`` (n, 4, 4) and ∂F̄/∂ζ (n, 6, 6) for δg = g ζ̂.

        F̄ = 𝓜(0; Rᵀγ) + (dead in section axes) + follower; a dead vector f changes by (Rᵀf)^ ζ_ω.
        """
        slope = np.zeros((self.s.size, 6, 6))
        if not self.turns:
            return self.follower.copy(), slope
        Rt = np.swapaxes(g[:, :3, :3], 1, 2)
        moment = (Rt @ self.dead[:, :3, None])[..., 0]
        force = (Rt @ (self.dead[:, 3:] + self.weight)[..., None])[..., 0]
        slope[:, :3, :3], slope[:, 3:, :3] = so3.hat(moment), so3.hat(force)
        return np.concatenate([moment, force], axis=1) + self.follower, slope

    def load_energy(self, g: Array) -> Array:
        """Potential of gravity and of dead forces per metre, -fᵀp (n,) [J/m]; couples and followers have none."""
        return -np.sum((self.weight + self.dead[:, 3:]) * g[:, :3, 3], axis=1)


@brief
@dataclass(frozen=True, eq=False)
class RodProblem:
    """One rod with all that acts on it, as functions of s.

    Units: ``length`` [m]; ``stiffness`` [N m², N], ``rest_strain`` [1/m, m/m], ``inertia`` [kg m, kg/m] (n, 6);
    ``gravity`` (3,) [m/s²] in world axes; ``muscle`` (n, 6) [N m, N]; ``breaks`` [m]: where a field jumps.
    ``law`` is the section law where it is not the linear one of ``stiffness``, then the diagonal of its slope at rest.
    ``component``: the free strains among K_x, K_y, K_z, Γ_x, Γ_y, Γ_z (0 to 5). ``closed``: a ring, whose tip is held
    where its base is. ``mass_damping`` α [1/s]: a load -α 𝓜 η per length, in motion.
    """

    length: float
    component: tuple[int, ...]
    stiffness: FieldOf
    rest_strain: FieldOf
    inertia: FieldOf
    gravity: Array = field(default_factory=lambda: np.zeros(3))
    distributed: tuple[Density, ...] = ()
    tendons: tuple[Pull, ...] = ()
    muscle: FieldOf | None = None
    base: End = field(default_factory=End.clamped)
    tip: End = field(default_factory=End)
    base_wrench: EndWrench = _NO_WRENCH
    tip_wrench: EndWrench = _NO_WRENCH
    breaks: tuple[float, ...] = ()
    closed: bool = False
    mass_damping: float = 0.0
    name: str = "rod"
    law: SectionLaw | None = None

    def __post_init__(self) -> None:
        positive("length", self.length, "m")
        component = tuple(int(c) for c in self.component)
        if not component or sorted(set(component)) != list(component) or not set(component) <= set(range(6)):
            raise BadInput(f"component = {self.component}: give the free strains among 0 ... 5 in increasing order")
        probe = np.array([0.0, *self.breaks, self.length])
        for name in ("stiffness", "rest_strain", "inertia"):
            values = np.asarray(getattr(self, name)(probe))
            if values.shape != (probe.size, 6):
                raise BadInput(f"{name} has shape {values.shape} for {probe.size} positions: return ({probe.size}, 6)")
        free = self.stiffness(np.linspace(0.0, self.length, 33))[:, list(component)]
        if not np.all(np.isfinite(free)) or np.any(free <= 0.0):
            k = int(np.argmax(np.any(~(free > 0.0), axis=0)))
            raise BadInput(
                f"stiffness of the strain {component[k]} (of K_x, K_y, K_z, G_x, G_y, G_z) is {np.min(free[:, k]):g}: "
                "it must be greater than zero (N m² or N); leave this strain out of the basis, or give it a stiffness"
            )

    # From a system ------------------------------------------------------------------------------------------

    @classmethod
    def at_rest(cls, system: System, inputs: Inputs | None = None) -> RodProblem:
        """The same for a rod that stands still; :class:`BadInput` where its base turns or accelerates."""
        base = check_system("a rod problem", system).mechanism.base
        if isinstance(base, Driven):
            twist = np.array(base.motion.at(0.0)[1:])
            twist[0, 3:] = 0.0  # a constant speed changes nothing
            if np.any(np.abs(twist) > STILL):
                raise BadInput(
                    f"the base moves, at {np.linalg.norm(twist[0, :3]):.3g} rad/s, {np.linalg.norm(twist[1, :3]):.3g} "
                    f"rad/s² and {np.linalg.norm(twist[1, 3:]):.3g} m/s², and this method knows rods that stand still: "
                    "use equilibrium(system), which finds the rest in the frame of the base"
                )
        return cls.of(system, inputs)

    @classmethod
    def of(cls, system: System, inputs: Inputs | None = None, time: float = 0.0) -> RodProblem:
        """The problem of the only rod of ``system`` with its ``inputs`` at ``time`` [s].

        :class:`BadInput` says what does not fit a single rod along its length.
        """
        rod = _only_rod(check_system("a rod problem", system))
        u = system.input_vector(system.signals(inputs), time)
        value = {id(part): float(u[k]) for k, part in enumerate(system.channels)}
        breaks: set[float] = set(rod.piece_ends[1:-1])
        tendons: list[Pull] = []
        muscles: list[tuple[float, Muscle]] = []
        for part in system.actuators:
            if isinstance(part, Tendon | Pressure):
                if len(part.rods) != 1 or part.spans:
                    raise BadInput(f"{part.name!r} runs over guides beside the rod: {_OTHERWISE}")
                tension = part.tension(value[id(part)]) if isinstance(part, Pressure) else value[id(part)]
                tendons.append(Pull(tension, part.geometry))
                breaks.update(part.breaks_on(rod))
            elif isinstance(part, Muscle):
                muscles.append((value[id(part)], part))
                breaks.update(part.breaks)
            else:
                raise BadInput(f"{part.name!r} is a {type(part).__name__}, which no single rod has: {_OTHERWISE}")
        gravity = np.zeros(3)
        densities: list[Density] = []
        ends = {"base": np.zeros((2, 6)), "tip": np.zeros((2, 6))}
        for load in system.loads:
            scale = value.get(id(load), 1.0)
            if isinstance(load, Gravity):
                gravity = scale * np.array(load.acceleration)
            elif isinstance(load, DistributedWrench):
                densities.append(Density(_times(scale, load.density), load.follows))
                breaks.update(load.breaks)
            elif isinstance(load, PointWrench):
                ends[_end(load.name, load.position, rod.length)][int(load.follows)] += scale * load.wrench
            else:
                name = getattr(load, "name", type(load).__name__)
                raise BadInput(f"{name!r} is a {type(load).__name__}, which is not part of this problem: {_OTHERWISE}")
        base, tip, closed = _ends(system, rod, time)
        return cls(
            length=rod.length,
            component=tuple(c for c in range(6) if rod.counts[c]),
            stiffness=rod.stiffness,
            rest_strain=rod.rest_strain,
            inertia=rod.inertia,
            gravity=gravity,
            distributed=tuple(densities),
            tendons=tuple(tendons),
            muscle=_sum_of_muscles(muscles),
            base=base,
            tip=tip,
            base_wrench=EndWrench(*ends["base"]),
            tip_wrench=EndWrench(*ends["tip"]),
            breaks=tuple(sorted(breaks)),
            closed=closed,
            mass_damping=rod.mass_damping,
            name=rod.name,
            law=rod.law,
        )

    def with_(self, **changes: Any) -> RodProblem:
        """A copy with some fields replaced: ``problem.with_(tip=End.clamped(pose))``."""
        return replace(self, **changes)

    def ramped(self, part: float) -> RodProblem:
        """The problem with all loads and actuators at ``part`` of their value; ends stay where they are."""
        return replace(
            self,
            gravity=part * self.gravity,
            distributed=tuple(Density(_times(part, d.density), d.follows) for d in self.distributed),
            tendons=tuple(Pull(part * pull.tension, pull.geometry) for pull in self.tendons),
            muscle=None if self.muscle is None else _times(part, self.muscle),
            base_wrench=EndWrench(*(part * w for w in self.base_wrench)),
            tip_wrench=EndWrench(*(part * w for w in self.tip_wrench)),
        )

    def straight_tendons(self) -> RodProblem:
        """The problem with tendons evaluated at the rest strain: Λ_act = Σ T (D × c₀; c₀)/|c₀|, c₀ of ξ₀.

        The approximation of Boyer 2023, test 1: stresses of tendons do not depend on the strain.
        """
        pulls, own, rest = self.tendons, self.muscle, self.rest_strain

        def stress(s: Array) -> Array:
            total = np.zeros((s.size, 6)) if own is None else np.array(own(s))
            xi = rest(s)
            for pull in pulls:
                D, D_prime, on = pull.geometry(s)
                total += (pull.tension * on)[:, None] * pull_of_tendon(xi, D, D_prime)
            return total

        return replace(self, tendons=(), muscle=stress)

    # Along s ------------------------------------------------------------------------------------------------

    def at(self, s: ArrayLike) -> Sections:
        """All fields at ``s`` [m]."""
        s = arc_lengths(s)
        n = s.size
        dead, follower = np.zeros((n, 6)), np.zeros((n, 6))
        for density, follows in self.distributed:
            (follower if follows else dead)[:] += density(s)
        pulls = [pull.geometry(s) for pull in self.tendons if pull.tension != 0.0]
        tensions = np.array([pull.tension for pull in self.tendons if pull.tension != 0.0])
        return Sections(
            s=s,
            component=self.component,
            stiffness=np.asarray(self.stiffness(s), dtype=float),
            rest_strain=np.asarray(self.rest_strain(s), dtype=float),
            weight=np.asarray(self.inertia(s))[:, 3:4] * self.gravity,
            dead=dead,
            follower=follower,
            muscle=np.zeros((n, 6)) if self.muscle is None else np.asarray(self.muscle(s), dtype=float),
            tensions=tensions,
            D=np.stack([p[0] for p in pulls], axis=1) if pulls else np.zeros((n, 0, 3)),
            D_prime=np.stack([p[1] for p in pulls], axis=1) if pulls else np.zeros((n, 0, 3)),
            here=np.stack([p[2] for p in pulls], axis=1) if pulls else np.zeros((n, 0), dtype=bool),
            law=self.law,
        )

    def actuation(self, s: ArrayLike, xi: ArrayLike) -> tuple[Array, Array]:
        """Λ_act (n, 6) at ``s`` (n,) [m] and strain ``xi`` (n, 6), and its slopes ∂Λ_act/∂ξ (n, 6, 6).

        A single s with ``xi`` (6,) gives (6,) and (6, 6).
        """
        xi = np.asarray(xi, dtype=float)
        stress, slope = self.at(s).actuation(np.atleast_2d(xi))
        return (stress[0], slope[0]) if xi.ndim == 1 else (stress, slope)

    def body_load(self, s: ArrayLike, g: ArrayLike) -> tuple[Array, Array]:
        """F̄ (n, 6) at ``s`` (n,) [m] and poses ``g`` (n, 4, 4), and ∂F̄/∂ζ (n, 6, 6) for δg = g ζ̂.

        A single s with ``g`` (4, 4) gives (6,) and (6, 6).
        """
        g = np.asarray(g, dtype=float)
        load, slope = self.at(s).body_load(g if g.ndim == 3 else g[None])
        return (load[0], slope[0]) if g.ndim == 2 else (load, slope)

    @property
    def bending_stiffness(self) -> float:
        """Stiffness [N m²] that sets the scale of moments EI/L: of the softer bending, else torsion, else stretch."""
        mean = np.mean(self.stiffness(np.linspace(0.0, self.length, 9)), axis=0)
        turns = [c for c in self.component if c in (1, 2)] or [c for c in self.component if c == 0]
        return float(min(mean[turns]) if turns else min(mean[list(self.component)]) * self.length**2)


_OTHERWISE = "solve this system with strain modes, equilibrium(system, ...)"


def _only_rod(system: System) -> Rod:
    mechanism = system.mechanism
    if len(mechanism.rods) != 1 or mechanism.bodies:
        raise BadInput(
            f"this system has {len(mechanism.rods)} rods and {len(mechanism.bodies)} rigid bodies, and a problem along "
            f"the length is of one rod and no body: {_OTHERWISE}"
        )
    return mechanism.rod


def _times(scale: float, function: FieldOf) -> FieldOf:
    return lambda s: scale * np.asarray(function(s), dtype=float)


def _sum_of_muscles(muscles: Sequence[tuple[float, Muscle]]) -> FieldOf | None:
    if not muscles:
        return None
    return lambda s: np.sum([scale * muscle.stress(s) for scale, muscle in muscles], axis=0)


def _end(name: str, s: float, length: float) -> str:
    """Which end ``s`` is."""
    if s <= 1e-12 * length:
        return "base"
    if s >= (1.0 - 1e-12) * length:
        return "tip"
    raise BadInput(
        f"{name!r} acts at s = {s:g} m, inside the rod (length {length:g} m): put it at an end, or {_OTHERWISE}"
    )


def _ends(system: System, rod: Rod, time: float) -> tuple[End, End, bool]:
    """Base, tip and whether the rod is a ring, from the joints and holds."""
    held: dict[str, list[End]] = {"base": [], "tip": []}
    mechanism = system.mechanism
    world = mechanism.base.motion.at(time)[0] if isinstance(mechanism.base, Driven) else mechanism.base.g
    start, welds = None, []
    for joint in mechanism.joints:
        a, b = joint.a, joint.b
        if a.part is b.part:
            welds.append(joint)
            continue
        if b.part == "world":
            a, b = b, a
        end = _end(joint.label, b.s, rod.length)
        origin = world if isinstance(mechanism.base, Clamped | Driven) else np.eye(4)
        g = origin @ a.g @ se3.inverse(b.g)
        if isinstance(joint, Fixed):
            held[end].append(End(g, _ALL, _ALL))
        elif isinstance(joint, Spherical) and not np.any(b.g[:3, 3]):
            held[end].append(End(g, (), _ALL))
        elif isinstance(joint, Floating):
            start = world if end == "base" else None
        else:
            raise BadInput(f"{joint.label}: only fixed and spherical joints of the ends to the world fit; {_OTHERWISE}")
    for hold in mechanism.holds:
        held[_end(hold.label, hold.s(rod.length), rod.length)].append(_held(hold))
    base = _merged("base", held["base"], np.eye(4) if start is None else start)
    tip = _merged("tip", held["tip"], np.eye(4))
    if welds:
        return base, _ring(welds, base, tip, rod), True
    return base, tip, False


def _ring(welds: Sequence[Joint], base: End, tip: End, rod: Rod) -> End:
    weld = welds[0]
    frames: dict[str, Frame] = {_end(weld.label, f.s, rod.length): f for f in (weld.a, weld.b)}
    if len(welds) > 1 or not isinstance(weld, Fixed) or len(frames) < 2 or tip.held:
        raise BadInput(f"{weld.label}: of loops only a ring fits, whose tip is fixed to its base; {_OTHERWISE}")
    # g_tip · offset_tip = g_base · offset_base
    pose = base.pose @ frames["base"].g @ se3.inverse(frames["tip"].g)
    return End.clamped(pose)


def _held(hold: Hold) -> End:
    return End(se3.pose(hold.R, hold.p), hold.rotation_axes, hold.position_axes)


def _merged(where: str, parts: Sequence[End], start: Array) -> End:
    """Several holds of one end as one."""
    if not parts:
        return End(np.array(start))
    pose = np.array(start)
    turns: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    for part in parts:
        if set(part.position_axes) & set(places) or (turns and part.rotation_axes):
            total = sum(other.held for other in parts)
            raise BadInput(
                f"the {where} of the rod is held {total} times in all, and some of its six components twice: "
                "hold each component once"
            )
        for axis in part.position_axes:
            pose[axis, 3] = part.pose[axis, 3]
        if part.rotation_axes:
            pose[:3, :3] = part.pose[:3, :3]
        turns, places = turns + part.rotation_axes, places + part.position_axes
    return End(finite(f"pose of the {where}", pose, (4, 4), "m and dimensionless"), turns, tuple(sorted(places)))
