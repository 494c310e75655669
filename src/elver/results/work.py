"""Work of everything that acts on a system, step by step, from the states at the ends of the steps.

What has a displacement y of its own (cable length, coordinate, height, position under a dead force) does the work
∫ f dy, exact for constant f; all else, the power of its wrench or effort at *nodes* inside the step:

    order two    one node, the middle: mean of the ends, with the rates Δx/h that the step really had
    order four   the two Gauss points, on the cubic that meets position and velocity at both ends

which are the stages of the implicit midpoint rule and of the Gauss rule of order four. Rates Δx/h do not see what the
velocities of unresolved modes do within a step, so dissipation is never negative and never overstated.

Theory: docs/theory/time-integration.md, eq. (ledger), (ledger-nodes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.actuation import ActiveStress, Motor, Muscle, Pressure, SpooledTendon, Tendon
from elver.dynamics.core import Core
from elver.dynamics.quantities import Observation, observe_states
from elver.dynamics.states import Arrays
from elver.environment import (
    DistributedWrench,
    Feedback,
    FrameLoad,
    Gravity,
    JointFeedback,
    Lighthill,
    Morison,
    PointWrench,
)
from elver.lie import se3, so3
from elver.mechanism import Driven, Joint, Passive
from elver.results.water import strip_powers
from elver.rods import Rod
from elver.system import System

__all__ = ["GAUSS_POINTS", "Rows", "WorkMeter"]

Array: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Mapping[str, Array]
"""Accepted states one after the other: ``time``, ``q``, ``base``, ``twist``, ``multipliers``, ``inputs`` and
``node_inputs`` (rows, nodes, inputs), those inside of the step that ends with the row."""

GAUSS_POINTS = np.array([0.5 - np.sqrt(3.0) / 6.0, 0.5 + np.sqrt(3.0) / 6.0])
"""Nodes of the rule of order four, as fractions of the step."""


@dataclass(frozen=True, eq=False)
class _Nodes:
    """States inside of the steps, one set for each node of the rule."""

    time: Array  # (steps,)
    weight: Array  # (steps,) s
    inputs: Array  # (steps, inputs)
    base: Array  # (steps, 4, 3)
    twist: Array  # (steps, 2, 6)
    q: Array  # (steps, 3, n)
    multipliers: Array  # (steps, rows)
    frames: dict[int, int]  # column of each frame looked at
    position: Array  # (steps, frames, 3)
    rotation: Array  # (steps, frames, 3, 3)
    velocity: Array  # (steps, frames, 6) spin, velocity of the origin, world axes
    seen: Observation | None = None  # all else there, for the rule of order four
    fraction: float = 0.5  # of the step, where the node is


class WorkMeter:
    """Work [J] of each thing that acts on a system, over each of a row of steps."""

    def __init__(self, system: System, kernels: Core, order: int) -> None:
        self.system, self.kernels, self.order = system, kernels, order
        p = kernels.program
        self.turning = np.flatnonzero(p.load_follows.astype(bool) | np.any(p.load_wrench[:, :3] != 0.0, axis=1))
        self.fluids = [load for load in system.loads if isinstance(load, Morison | Lighthill)]
        self.stresses = [part for part in system.actuators if isinstance(part, ActiveStress)]
        self.pushes = [load for load in system.loads if isinstance(load, FrameLoad)]
        self.slides = [load for load in system.loads if isinstance(load, Passive) and load.heats]
        held = [kernels.assembly.held[load] for load in self.slides]
        used = [*p.load_frame[self.turning], *held, *p.drag_frame, *p.strip_frame[:, 0], *p.user_frame]
        self.frames = {int(f): k for k, f in enumerate(sorted(set(used)))}
        base = system.mechanism.base
        self.driven = base.motion if isinstance(base, Driven) else None
        labels = [system.label(part) for part in system.channels]
        self.works = _distinct(
            [*labels, *(["base"] if self.driven is not None else []), *(part.name for part in system.feedback),
             *(fluid.name for fluid in self.fluids)]
        )  # fmt: skip
        self.dampers = [part for part, (first, count) in system.blocks.items() if self._is_damped(part, first, count)]
        still = [fluid for fluid in self.fluids if isinstance(fluid, Morison) and not np.any(fluid.flow)]
        self.losses = _distinct([str(part.name) for part in (*self.dampers, *self.slides, *still)])
        self.still = still

    def _is_damped(self, part: Rod | Joint, first: int, count: int) -> bool:
        p, own = self.kernels.program, slice(first, first + count)
        drags = part in self.kernels.assembly.drag_owner
        return bool(drags or np.any(p.D_elastic[own]) or np.any(p.friction[own, 0]))

    def steps(self, rows: Rows, seen: Observation) -> tuple[Array, Array]:
        """Work (steps, works) and dissipation (steps, losses) between rows that follow each other."""
        h = np.diff(rows["time"])
        q, wrapped = self._unwound(rows, h)
        work, loss = np.zeros((h.size, len(self.works))), np.zeros((h.size, len(self.losses)))
        if not h.size:
            return work, loss
        nodes = [self._middle(rows, seen, q, h)] if self.order < 4 else self._gauss_nodes(rows, q, h, wrapped)
        self._add_conjugate(rows, seen, q, nodes, work)
        if self.order < 4:
            self._add_stored(q, rows["node_inputs"][1:, 0], work)
        if "given_work" in rows:
            self._add_given(rows["given_work"][1:], work)
        for node in nodes:
            for k, power in self._powers(node, "given_work" in rows):
                work[:, k] += node.weight * power
            for k, power in self._losses(node):
                loss[:, k] += node.weight * power
            ends = seen if "held" in rows else None
            for k, power in self._drags(node, ends):
                loss[:, k] += node.weight * power
            self._add_water(node, ends, work, loss)
        if known := getattr(self.kernels, "powers", None):
            for t in [t for t in known if t < rows["time"][-1] - 1e-6 * h[-1]]:
                del known[t]
        return work, loss

    # Nodes -----------------------------------------------------------------------------------------------------

    def _unwound(self, rows: Rows, h: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Coordinates without the jumps of rotation vectors to another chart, and the steps that have one."""
        q, rate = rows["q"][:, 0].copy(), rows["q"][:, 1]
        wrapped = np.zeros(h.size, dtype=bool)
        for first in self.kernels.program.wrap:
            own = slice(int(first), int(first) + 3)
            change = np.diff(q[:, own], axis=0)
            jump = np.linalg.norm(change, axis=1) > np.pi
            if np.any(jump):
                wrapped |= jump
                change[jump] = h[jump, None] * rate[1:, own][jump]
                q[1:, own] = q[0, own] + np.cumsum(change, axis=0)
        return q, wrapped

    def _middle(self, rows: Rows, seen: Observation, q: Array, h: Array) -> _Nodes:
        """The middle of each step, from its ends."""
        base, twist = rows["base"], rows["twist"]
        turn = so3.log(np.swapaxes(base[:-1, :3], 1, 2) @ base[1:, :3])
        middle, motion = np.empty((h.size, 4, 3)), np.empty((h.size, 2, 6))
        middle[:, :3], middle[:, 3] = base[:-1, :3] @ so3.exp(0.5 * turn), 0.5 * (base[:-1, 3] + base[1:, 3])
        motion[:, 0, :3] = turn / h[:, None]
        motion[:, 0, 3:] = np.einsum("tji,tj->ti", middle[:, :3], np.diff(base[:, 3], axis=0)) / h[:, None]
        motion[:, 1] = np.diff(twist[:, 0], axis=0) / h[:, None]
        state = np.stack(
            [0.5 * (q[:-1] + q[1:]), np.diff(q, axis=0) / h[:, None], np.diff(rows["q"][:, 1], axis=0) / h[:, None]],
            axis=1,
        )
        used = list(self.frames)
        position, rotation = seen.position[:, used], seen.rotation[:, used]
        spin = so3.log(np.swapaxes(rotation[:-1], 2, 3) @ rotation[1:])
        velocity = np.concatenate(
            [np.einsum("tfij,tfj->tfi", rotation[:-1], spin), np.diff(position, axis=0)], axis=2
        ) / h[:, None, None]  # fmt: skip
        return _Nodes(
            0.5 * (rows["time"][:-1] + rows["time"][1:]), h, rows["node_inputs"][1:, 0], middle, motion, state,
            0.5 * (rows["multipliers"][:-1] + rows["multipliers"][1:]), self.frames,
            0.5 * (position[:-1] + position[1:]), rotation[:-1] @ so3.exp(0.5 * spin), velocity,
        )  # fmt: skip

    def _gauss_nodes(self, rows: Rows, q: Array, h: Array, wrapped: NDArray[np.bool_]) -> list[_Nodes]:
        """The Gauss points of each step, on the cubic that meets position and velocity at its ends."""
        base, twist, rate = rows["base"], rows["twist"], rows["q"][:, 1].copy()
        turn = so3.log(np.swapaxes(base[:-1, :3], 1, 2) @ base[1:, :3])
        spin = twist[:, 0, :3]
        speed = np.einsum("tij,tj->ti", base[:, :3], twist[:, 0, 3:])
        nodes = []
        for k, c in enumerate(GAUSS_POINTS):
            state = _cubic(q[:-1], q[1:], rate[:-1], rate[1:], h, c)
            if np.any(wrapped):  # rates in two charts: those of the end
                state[wrapped, 1], state[wrapped, 2] = rate[1:][wrapped], 0.0
            last = np.einsum("tij,tj->ti", so3.dexp_inv(turn), spin[1:])
            angle = _cubic(np.zeros_like(turn), turn, spin[:-1], last, h, c)
            place = _cubic(base[:-1, 3], base[1:, 3], speed[:-1], speed[1:], h, c)
            here, motion = np.empty((h.size, 4, 3)), np.empty((h.size, 2, 6))
            here[:, :3], here[:, 3] = base[:-1, :3] @ so3.exp(angle[:, 0]), place[:, 0]
            motion[:, 0, :3] = np.einsum("tij,tj->ti", so3.dexp(angle[:, 0]), angle[:, 1])
            motion[:, 0, 3:] = np.einsum("tji,tj->ti", here[:, :3], place[:, 1])
            motion[:, 1] = (1.0 - c) * twist[:-1, 1] + c * twist[1:, 1]
            time = rows["time"][:-1] + c * h
            if self.driven is not None:
                for t, instant in enumerate(time):
                    g, motion[t, 0], motion[t, 1] = self.driven.at(float(instant))
                    here[t, :3], here[t, 3] = g[:3, :3], g[:3, 3]
            inputs = np.ascontiguousarray(rows["node_inputs"][1:, k])
            seen = observe_states(self.system, here, motion, state, inputs)
            used = list(self.frames)
            multipliers = (1.0 - c) * rows["multipliers"][:-1] + c * rows["multipliers"][1:]
            node = _Nodes(
                time, 0.5 * h, inputs, here, motion, state, multipliers, self.frames,
                seen.position[:, used], seen.rotation[:, used], seen.velocity[:, used], seen, float(c),
            )  # fmt: skip
            nodes.append(node)
        return nodes

    # What has a displacement of its own ------------------------------------------------------------------------

    def _add_conjugate(self, rows: Rows, seen: Observation, q: Array, nodes: list[_Nodes], work: Array) -> None:
        """∫ f dy of tendons, motors, muscles, dead forces and a changing gravity."""
        multipliers = rows.get("held", rows["multipliers"])
        pairs = list(self._pairs(seen, q, rows["inputs"], rows["node_inputs"][:, 0], multipliers))
        if self.order < 4:
            for k, f, y in pairs:
                is_of_step = self._is_input(k) or ("held" in rows and not isinstance(self.system.channels[k], Gravity))
                inside = f[1:] if is_of_step else 0.5 * (f[:-1] + f[1:])
                work[:, k] += inside * np.diff(y)
            return
        inner = [
            list(self._pairs(node.seen, node.q[:, 0], node.inputs, node.inputs, node.multipliers))
            for node in nodes
            if node.seen is not None
        ]
        # f at the two nodes, y at the ends and at the nodes: dy/dt of the cubic through all four
        c = np.array([0.0, *GAUSS_POINTS, 1.0])
        powers = np.linalg.inv(c[:, None] ** np.arange(4))[1:]
        slope = (np.arange(1, 4) * GAUSS_POINTS[:, None] ** np.arange(3)) @ powers
        for i, (k, _, y) in enumerate(pairs):
            path = np.stack([y[:-1], inner[0][i][2], inner[1][i][2], y[1:]])
            work[:, k] += sum(0.5 * inner[j][i][1] * (slope[j] @ path) for j in range(2))

    def _add_stored(self, q: Array, acting: Array, work: Array) -> None:
        """-ΔW of active stresses that have an energy W, at the input of each step."""
        for j, part in enumerate(self.stresses):
            if part.has_energy:
                t = len(self.kernels.assembly.own.laws) + j
                for i, u in enumerate(acting):
                    change = self.kernels.own_energies(q[i + 1], u)[t] - self.kernels.own_energies(q[i], u)[t]
                    work[i, self.system.input_index(part)] -= change

    def _is_input(self, k: int) -> bool:
        """Whether the force of a channel is its input, and its displacement one of the robot."""
        return not isinstance(self.system.channels[k], Gravity | SpooledTendon)

    def _pairs(
        self, seen: Observation, q: Array, u: Array, acting: Array, multipliers: Array
    ) -> Iterator[tuple[int, Array, Array]]:
        """Channel, force and displacement of all that has both; inputs ``u`` are there, ``acting`` those that act."""
        p, system = self.kernels.program, self.system
        tendons = [a for a in system.actuators if isinstance(a, Tendon | SpooledTendon | Pressure)]
        for t, part in enumerate(tendons):
            k = system.input_index(part)
            if p.tendon_row[t] >= 0:
                yield k, multipliers[:, p.tendon_row[t]], u[:, k]
            else:
                yield k, -p.tendon_factor[t] * acting[:, k], seen.length[:, t]
        motors = [a for a in system.actuators if isinstance(a, Muscle | Motor)]
        for row, motor in zip(p.muscle_force, motors, strict=True):
            k = system.input_index(motor)
            yield k, acting[:, k], -np.einsum("ti,i->t", q, row)
        for k, channel in enumerate(system.channels):
            if isinstance(channel, Gravity):
                yield k, seen.weight_energy, u[:, k]
            elif isinstance(channel, PointWrench | DistributedWrench) and not channel.follows:
                own = np.flatnonzero(p.load_input == k)
                place = seen.position[:, p.load_frame[own]]
                yield k, acting[:, k], np.einsum("tfi,fi->t", place, p.load_wrench[own, 3:])

    # Powers at nodes -------------------------------------------------------------------------------------------

    def _add_given(self, told: Array, work: Array) -> None:
        """Work of what imposes coordinates and drives the base, as the method itself knows it."""
        for j, part in enumerate(self.system.imposed):
            work[:, self.system.input_index(part)] += told[:, j]
        if self.driven is not None:
            work[:, len(self.system.channels)] += told[:, -1]

    def _powers(self, node: _Nodes, told: bool) -> Iterator[tuple[int, Array]]:
        """Power [W] of all that has no displacement of its own, on the robot."""
        p, system, at = self.kernels.program, self.system, self.frames
        for e in self.turning:
            k, f, wrench = int(p.load_input[e]), at[int(p.load_frame[e])], p.load_wrench[e]
            spin, speed = node.velocity[:, f, :3], node.velocity[:, f, 3:]
            if p.load_follows[e]:
                R = node.rotation[:, f]
                yield k, node.inputs[:, k] * np.einsum("ti,tij,j->t", spin, R, wrench[:3])
                yield k, node.inputs[:, k] * np.einsum("ti,tij,j->t", speed, R, wrench[3:])
            else:
                yield k, node.inputs[:, k] * np.einsum("ti,i->t", spin, wrench[:3])
        yield from self._own_powers(node)
        first = len(system.channels) + int(self.driven is not None)
        if system.feedback:
            powers = self._feedback_powers(node)
            wrenches = [j for j, part in enumerate(system.feedback) if isinstance(part, Feedback)]
            efforts = [j for j, part in enumerate(system.feedback) if isinstance(part, JointFeedback)]
            for column, j in enumerate([*wrenches, *efforts]):
                yield first + j, powers[:, column]
        if (self.driven is not None or system.imposed) and not told:
            yield from self._reactions(node)

    def _own_powers(self, node: _Nodes) -> Iterator[tuple[int, Array]]:
        """Power of loads of one's own, and of active stresses whose energy is not known or, of order four, not used."""
        system = self.system
        for load, frame in zip(self.pushes[::-1], self.kernels.program.user_frame[::-1], strict=False):
            k, f, power = system.input_index(load), self.frames[int(frame)], np.zeros(node.time.size)
            for t in range(power.size):
                R = node.rotation[t, f]
                eta = np.concatenate([R.T @ node.velocity[t, f, :3], R.T @ node.velocity[t, f, 3:]])
                power[t] = load.wrench(se3.pose(R, node.position[t, f]), eta, float(node.inputs[t, k])) @ eta
            yield k, power
        for part in self.stresses:
            if self.order < 4 and part.has_energy:
                continue
            k, grid = system.input_index(part), self.kernels.assembly.rods[part.rod]
            s, weights, own = grid.s, grid.weights, system.coordinates(part.rod)
            strain, rest = part.rod.strain(s, node.q[:, :2, own]), part.rod.rest_strain(s)
            power = np.zeros(node.time.size)
            for t, (xi, rate) in enumerate(zip(strain[:, 0], strain[:, 1] - rest, strict=True)):
                stress = part.stress(s, xi, float(node.inputs[t, k]))
                power[t] = -np.einsum("n,nc,nc->", weights, stress, rate)
            yield k, power

    def _feedback_powers(self, node: _Nodes) -> Array:
        """Powers (steps, feedbacks) at the nodes, from what the method itself asked of the functions.

        They are not called again: a controller may remember. Where the method asked at other instants than the node,
        by the polynomial through the ends of the step and, if it was asked for, the middle.
        """
        known: dict[float, Array] = getattr(self.kernels, "powers", {})
        out = np.zeros((node.time.size, len(self.system.feedback)))
        if not known:
            return out
        times = np.array(sorted(known))
        h = node.weight if self.order < 4 else 2.0 * node.weight
        c = node.fraction

        def at(t: float, step: float) -> Array | None:
            near = times[np.argmin(np.abs(times - t))]
            return known[float(near)] if abs(near - t) < 1e-6 * step else None

        for k, (t, step) in enumerate(zip(node.time.tolist(), h.tolist(), strict=True)):
            here = at(t, step)
            if here is None:
                first, middle, last = (at(t + (x - c) * step, step) for x in (0.0, 0.5, 1.0))
                first, last = (last if first is None else first), (first if last is None else last)
                if first is None or last is None:
                    continue
                here = (1.0 - c) * first + c * last
                if middle is not None:
                    here = here + 4.0 * c * (1.0 - c) * (middle - 0.5 * (first + last))
            out[k] = here
        return out

    def _reactions(self, node: _Nodes) -> Iterator[tuple[int, Array]]:
        """Power of what imposes coordinates and moves the base, from inverse dynamics at the node."""
        system, kernels = self.system, self.kernels.released
        imposed = [(system.input_index(a), system.imposed_columns(a)[0]) for a in system.imposed]
        powers = np.zeros((node.time.size, len(imposed) + 1))
        offset = kernels.coordinates - kernels.n
        for t in range(node.time.size):
            a = Arrays(node.base[t], node.twist[t], np.ascontiguousarray(node.q[t]), node.multipliers[t])
            R = kernels.residual(a, node.inputs[t])
            for j, (_, k) in enumerate(imposed):
                powers[t, j] = R[offset + k] * a.q[1, k]
            if self.driven is not None:
                powers[t, -1] = kernels.base_wrench(a, node.inputs[t]) @ a.twist[0]
        for j, (channel, _) in enumerate(imposed):
            yield channel, powers[:, j]
        if self.driven is not None:
            yield len(system.channels), powers[:, -1]

    def _losses(self, node: _Nodes) -> Iterator[tuple[int, Array]]:
        """Power [W] that rods, joints and sliding frames turn into heat."""
        p, rate = self.kernels.program, node.q[:, 1]
        for k, part in enumerate(self.dampers):
            first, count = self.system.blocks[part]
            own = slice(first, first + count)
            v, (dry, speed) = rate[:, own], p.friction[own].T
            lost = np.einsum("ti,i->t", v * np.tanh(v / speed), dry)
            for j in range(p.D_elastic.shape[1]):  # the j-th of what each coordinate is tied to
                other = np.minimum(p.law[own, 0] + j, count - 1)
                lost += np.einsum("ti,i,ti->t", v, p.D_elastic[own, j], v[:, other])
            yield k, lost
        for j, load in enumerate(self.slides):
            yield len(self.dampers) + j, load.heat(node.velocity[:, self.frames[self.kernels.assembly.held[load]]])

    def _drags(self, node: _Nodes, ends: Observation | None) -> Iterator[tuple[int, Array]]:
        """Power [W] of drag on the frames of rods; of conserving steps in the axes of both ``ends``."""
        p = self.kernels.program
        for j, rod in enumerate(self.kernels.assembly.drag_owner):
            frame = int(p.drag_frame[j])
            motion, axes = self._of_step(node, ends, [frame])
            for R in axes:
                eta = np.einsum("tji,tkj->tki", R[:, 0], motion[:, 0].reshape(-1, 2, 3)).reshape(-1, 6)
                yield self.dampers.index(rod), np.einsum("ti,ik,tk->t", eta, p.drag[j], eta) / len(axes)

    def _of_step(self, node: _Nodes, ends: Observation | None, frames: list[int]) -> tuple[Array, list[Array]]:
        """Motion (steps, frames, 6) of frames and their axes; of conserving steps by Cayley's vector, at both ends."""
        used = [self.frames[frame] for frame in frames]
        motion = node.velocity[:, used]
        if ends is None:
            return motion, [node.rotation[:, used]]
        half = 0.5 * node.weight[:, None] * np.linalg.norm(motion[..., :3], axis=2)
        longer = np.tan(half) / np.where(half > 0.0, half, 1.0) + (half == 0.0)
        motion = np.concatenate([longer[..., None] * motion[..., :3], motion[..., 3:]], axis=2)
        return motion, [ends.rotation[:-1, frames], ends.rotation[1:, frames]]

    def _add_water(self, node: _Nodes, ends: Observation | None, work: Array, loss: Array) -> None:
        """Drag in still water is dissipation; all else that the water does is its work."""
        p, owners = self.kernels.program, self.kernels.assembly.strip_owner
        first = len(self.works) - len(self.fluids)
        for law in np.unique(p.strip_frame[: len(owners), 1]):
            alike = np.flatnonzero(p.strip_frame[: len(owners), 1] == law)
            motion, axes = self._of_step(node, ends, p.strip_frame[alike, 0].tolist())
            for R in axes:
                powers = strip_powers(int(law), p.strip[alike], p.strip_pose[alike], R, motion)
                for j, total, drag in zip(alike, *(x.T * node.weight / len(axes) for x in powers), strict=True):
                    owner = owners[j]
                    if owner in self.still:
                        loss[:, len(self.dampers) + len(self.slides) + self.still.index(owner)] -= drag
                        total = total - drag
                    work[:, first + self.fluids.index(owner)] += total


def _cubic(a: Array, b: Array, a_dot: Array, b_dot: Array, h: Array, c: float) -> Array:
    """Value and two rates at the fraction c of each step of the cubic through ends with rates, (steps, 3, ...)."""
    h = h[:, None]
    change, c2 = b - a, c * c
    value = a + (3.0 * c2 - 2.0 * c2 * c) * change + h * ((c - 2.0 * c2 + c2 * c) * a_dot + (c2 * c - c2) * b_dot)
    rate = 6.0 * (c - c2) * change / h + (1.0 - 4.0 * c + 3.0 * c2) * a_dot + (3.0 * c2 - 2.0 * c) * b_dot
    second = ((6.0 - 12.0 * c) * change / h + (6.0 * c - 4.0) * a_dot + (6.0 * c - 2.0) * b_dot) / h
    return np.stack([value, rate, second], axis=1)


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Names with a number behind those that are taken."""
    out: list[str] = []
    for name in names:
        free, k = name, 2
        while free in out:
            free, k = f"{name}-{k}", k + 1
        out.append(free)
    return tuple(out)
