"""The same system with finer rods, and states carried over to it: the ground on which errors are estimated.

A finer rod has about twice the strain functions, among them those it had, and twice the nodes; whatever refers to the
rod (joints, holds, loads, actuators) refers to the finer one. The strain of a state is carried over as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.actuation import Imposed
from elver.dynamics.core import core
from elver.dynamics.states import arrays, as_state
from elver.errors import ElverWarning
from elver.lie import se3
from elver.mechanism import Joint
from elver.rods import Rod
from elver.rods.enrich import ends_given, enriched
from elver.system import State, System

__all__ = ["Refinement", "balanced", "refine", "refined_by", "with_rods"]

Array = NDArray[np.float64]


def with_rods(system: System, exchange: Mapping[Rod, Rod]) -> System:
    """``system`` with other rods in the place of its own; inputs by name stay the same."""
    done: dict[int, tuple[Any, Any]] = {}

    def exchanged(value: Any) -> Any:
        if isinstance(value, Rod):
            return exchange.get(value, value)
        if isinstance(value, tuple | list):
            items = [exchanged(item) for item in value]
            same = all(a is b for a, b in zip(items, value, strict=True))
            return value if same else type(value)(items)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        if isinstance(value, Joint):
            value = system.mechanism.joint(value)  # loads may name a joint that the mechanism has given a name
        if id(value) not in done:
            changes = {}
            for field in fields(value):
                if field.init and (new := exchanged(getattr(value, field.name))) is not getattr(value, field.name):
                    changes[field.name] = new
            done[id(value)] = value, replace(value, **changes) if changes else value
        return done[id(value)][1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElverWarning)  # said when the parts were made
        mechanism = exchanged(system.mechanism)
        return System(mechanism, exchanged(tuple(system.actuators)), exchanged(tuple(system.loads)))


@dataclass(frozen=True, eq=False)
class Refinement:
    """A finer system with the way of states to it."""

    system: System
    rods: dict[Rod, Rod]
    """The finer rod of each rod."""
    transfer: Array
    """(n of the finer, n): coordinates of the same strains and joint positions."""

    def state(self, state: State) -> State:
        """The same strains, rates and base on the finer system."""
        T = self.transfer
        return state.with_(q=T @ state.q, q_dot=T @ state.q_dot, q_ddot=T @ state.q_ddot)


def refine(system: System, functions: bool = True) -> Refinement:
    """``system`` with twice the nodes on each rod and, unless ``functions`` is False, richer strain functions.

    Where a function of a rod jumps without a break, the finer rod has one: more nodes alone never see a jump. Rods with
    imposed coordinates keep their functions: their shape is given, not found.
    """
    imposed = {part.target for part in system.actuators if isinstance(part, Imposed)}
    exchange: dict[Rod, Rod] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElverWarning)
        for rod in system.mechanism.rods:
            if functions and rod not in imposed:
                jumps = rod.hidden_jumps
                basis = enriched(ends_given(rod.basis) if jumps else rod.basis)
                finer = replace(rod, basis=basis, breaks=(*rod.breaks, *jumps), nodes=None)
            else:
                finer = replace(rod, nodes=None)
            assert rod.nodes is not None  # a rod fills it in
            exchange[rod] = replace(finer, nodes=max(2 * rod.nodes, finer.nodes or 0))
    return refined_by(system, exchange)


def refined_by(system: System, exchange: dict[Rod, Rod]) -> Refinement:
    """``system`` with given finer rods; strains that they cannot have are carried over by least squares."""
    fine = with_rods(system, exchange)
    transfer = np.zeros((fine.n, system.n))
    for part, (first, count) in system.blocks.items():
        if isinstance(part, Rod):
            own = fine.coordinates(exchange[part])
            transfer[own, first : first + count] = _projection(part, exchange[part])
        else:
            own = fine.coordinates(fine.mechanism.joint(part.name or part))
            transfer[own, first : first + count] = np.eye(count)
    return Refinement(fine, exchange, transfer)


def _projection(rod: Rod, finer: Rod) -> Array:
    """Coordinates of the finer rod for the same strain, (finer n, n): exact where its functions are among them."""
    grid = finer.grid
    s, w = grid.s[grid.quadrature], np.sqrt(grid.weights[grid.quadrature])[:, None]
    rich, own = w * finer.functions(s), w * rod.functions(s)
    out = np.zeros((finer.n, rod.n))
    for c in range(6):
        if rod.counts[c]:
            rows, columns = finer.component == c, rod.component == c
            out[np.ix_(rows, columns)] = np.linalg.lstsq(rich[:, rows], own[:, columns], rcond=None)[0]
    return np.where(np.abs(out) > 1e-14, out, 0.0)


# Balance on the finer system --------------------------------------------------------------------------------


def balanced(system: System, state: State, u: Array, steps: int = 8) -> tuple[State, bool]:
    """Newton steps from ``state`` toward balance at its rates under inputs ``u``; whether it was reached.

    The state is near: a step beyond half a unit of the coordinates (1/L of curvature) is shortened, and where the
    imbalance does not fall the first linear correction is returned.
    """
    kernels, a = core(system), arrays(state)
    c, free, scale = kernels.coordinates, kernels.coordinates - kernels.n, kernels.assembly.scale
    jets = 3 if np.any(state.q_dot) or np.any(state.eta) or np.any(state.eta_dot) or np.any(state.q_ddot) else 1
    first: State | None = None
    sizes = []
    for _ in range(steps):
        matrix, R = kernels.tangent(a, u, (1.0, 0.0, 0.0), jets), kernels.residual(a, u, jets)
        idle = ~matrix.any(axis=1)
        matrix[idle, idle] = 1.0  # rows of closures that are held twice
        step = -_solved(matrix, R)
        size = float(np.max(np.abs(step[:c] / scale), initial=0.0))
        step *= min(1.0, 0.5 / max(size, 1e-300))
        g = as_state(a, state.time).g
        if free:
            g = g @ se3.exp(step[:6])
        a = arrays(state.with_(g=g, q=a.q[0] + step[free:c], multipliers=a.multipliers + step[c:]))
        first = first or as_state(a, state.time)
        sizes.append(size)
        if size < 1e-10:
            return as_state(a, state.time), True
        if not np.isfinite(size) or (len(sizes) > 3 and size > sizes[0]):
            break
    return (as_state(a, state.time), True) if sizes[-1] < 1e-4 else (first or state, False)


def _solved(matrix: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0], dtype=float)
