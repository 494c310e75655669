"""Assembly modes: the different equilibria of one robot under the same inputs, found from many starts."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.core import Arrays, core, observe_states
from elver.errors import BadInput, NotConverged
from elver.statics.closing import REACHED, bent, project, relax, turned
from elver.statics.equilibrium import Equilibrium, Solver, copied, finish, newton
from elver.statics.moving import at_rest
from elver.statics.gaps import gap
from elver.statics.settling import settle
from elver.system import Inputs, System

__all__ = ["assembly_modes"]

Array: TypeAlias = NDArray[np.float64]

_SAME = 1e-6  # largest distance of points of one mode, in lengths of the robot


def assembly_modes(
    system: System,
    inputs: Inputs | None = None,
    count: int = 8,
    *,
    seed: int = 0,
    starts: int = 40,
    unstable: bool = True,
    tolerance: float = 1e-10,
) -> list[Equilibrium]:
    """Up to ``count`` equilibria that differ in the pose of some part: stable ones first, then by energy.

    The search begins at the start of the joints with rods at rest, then at ``starts`` others with joints turned and
    rods bent at random, always the same for one ``seed``; it cannot prove that there are no more. Unstable ones are
    kept unless ``unstable`` is False.
    """
    for name, value in (("count", count), ("starts", starts)):
        if int(value) != value or value < 1:
            raise BadInput(f"{name} = {value}: give a whole number >= 1")
    solver = Solver(system, tolerance, 40)
    kernels, random = core(system), np.random.default_rng(seed)
    rest = system.rest()
    u = system.input_vector(system.signals(inputs), rest.time)
    modes: list[tuple[Array, Equilibrium]] = []

    def keep(found: Equilibrium | None) -> None:
        if found is None or not (found.stable is not False or unstable):
            return
        points = _points(system, found)
        if all(np.max(np.abs(points - other)) > _SAME * kernels.assembly.length for other, _ in modes):
            modes.append((points, found))

    nearest = np.inf
    for k in range(1 + int(starts)):
        a = at_rest(rest) if k == 0 else _random_start(system, random)
        if kernels.rows:
            kernels.residual(a, u, jets=1)  # imposed coordinates take their values
            # by the smallest motion, since relaxing a random start first would lead all of them to one shape
            a = project(kernels, a, u)
            if gap(kernels, a, u) > REACHED:
                a = relax(kernels, a, u)
            nearest = min(nearest, gap(kernels, a, u))
            if gap(kernels, a, u) > REACHED:
                continue
        near = newton(system, copied(a), u, rest.time, solver)
        keep(near)
        if near is None or near.stable is False:
            settled = settle(kernels, copied(a), u, tolerance)
            if settled is not None and settled.exact:
                keep(finish(system, settled.a, u, rest.time, settled.steps, solver, settled.residual))
        if len(modes) >= count:
            break
    if not modes:
        raise NotConverged(
            f"assembly_modes: no equilibrium found from {starts} starts"
            + (f"; the closures stay open by {nearest:.2g} (rad, lengths of the robot)" if nearest > REACHED else "")
            + "; equilibrium(system, ...) says more"
        )
    found = [one for _, one in modes]
    return sorted(found, key=lambda one: (one.stable is False, one.potential))


def _random_start(system: System, random: np.random.Generator) -> Arrays:
    """Joints turned, rods bent to either side."""
    kernels, rest = core(system), system.rest()
    q = rest.q + turned(kernels, random)
    for component in (1, 2):
        signs = random.choice([-1.0, 1.0], len(system.mechanism.rods)) * random.uniform(0.2, 2.0)
        q = q + bent(kernels, component, signs)
    return at_rest(rest.with_(q=q))


def _points(system: System, found: Equilibrium) -> Array:
    """What tells one mode from another: origins of all frames, and points beside them along their axes."""
    a = at_rest(found.state)
    seen = observe_states(system, a.base[None], a.twist[None], a.q[None], found.inputs[None])
    length = core(system).assembly.length
    return np.concatenate([seen.position[0][:, None], length * np.swapaxes(seen.rotation[0], 1, 2)], axis=1)
