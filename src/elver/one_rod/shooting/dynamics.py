"""Motion of one rod by shooting along its length at every time step: no strain modes (Boyer 2023, sections 4 and 5).

The acceleration of a rod minimises Gauss' constraint; with an implicit scheme in time for the strains the conditions of
optimality are a two-point problem for (g, η, η', Λ) along s (eq. 61), solved here by multiple shooting: the rod is cut
into segments, each integrated from its own start by Runge-Kutta of order four together with its exact tangent
(:mod:`elver.kernels.one_rod.shoot`), and Newton joins them. A manipulator is held at its base, which may move; a
locomotor is free, and its base follows the scheme on SO(3)×R³ (eq. 67-72). In the water of Lighthill the inertia holds
the added mass and the tip feels the wrench shed at the tail (eq. 90-91).

``hybrid=True`` drops the equation of the acceleration, η' = c η + f_η (eq. 89), for comparison only.

Rooms: :mod:`elver.one_rod.shooting.time_scheme` the scheme in time, :mod:`elver.one_rod.shooting.grid` the rod on its
grid, with loads and strains, :mod:`elver.one_rod.shooting.ends` base and ends, :mod:`elver.one_rod.shooting.step`
Newton of one step, :mod:`elver.one_rod.shooting.critical_step` steps that are too short.

Theory: docs/theory/optimal-control.md, eq. (least-constraint), (implicit-strain), (acceleration-form).
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput, Interrupted, positive, warn
from elver.guards import guarded
from elver.one_rod.shooting.critical_step import (
    HOPELESS,
    LOUD,
    growth_per_segment,
    nodes_needed,
    shooting_exponent,
    shooting_growth,
)
from elver.one_rod.shooting.ends import check_ends
from elver.one_rod.shooting.grid import RodGrid, poses_of
from elver.one_rod.shooting.step import ShootingRun
from elver.one_rod.shooting.time_scheme import NEWMARK, SchemeOf, TimeScheme
from elver.statics.equilibrium import Equilibrium
from elver.system import Inputs, State, System, situation
from elver.words import describe

__all__ = ["RodMotion", "shooting_dynamics", "shooting_exponent", "shooting_growth"]

Array = NDArray[np.float64]
Progress: TypeAlias = Callable[[float, float], None]

_PROGRESS_SECONDS = 0.2


@dataclass(frozen=True, eq=False, repr=False)
class RodMotion:
    """A motion of a rod, time first; six-vectors angular first, in the axes of the sections."""

    time: Array  # (T,) s
    s: Array  # (nodes,) m
    pose: Array  # (T, nodes, 4, 4)
    twist: Array  # (T, nodes, 6) rad/s, m/s
    strain: Array  # (T, nodes, 6) 1/m, 1
    wrench: Array  # (T, nodes, 6) N m, N: what the part beyond exerts on the part before; at the start that of strains
    iterations: NDArray[np.int64]  # (T,) Newton steps
    strain_acceleration: Array  # (T,) largest of the second rate of the free strains, in 1/(L s²)
    ringing: Array  # (T,) part of it that changes sign from step to step, over the part that does not
    growth: float  # what shooting over one segment amplifies by, from its law

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s"
        return f"<RodMotion of {len(self.s)} nodes: {len(self.time)} instants, {span}>"

    @property
    def tip(self) -> Array:
        """Positions of the tip, (T, 3) [m]."""
        return self.pose[:, -1, :3, 3]


@guarded
def shooting_dynamics(
    system: System,
    state: State | Equilibrium | None = None,
    duration: float = 1.0,
    step: float = 1e-2,
    inputs: Inputs | None = None,
    *,
    method: SchemeOf | None = None,
    segments: int = 10,
    nodes: int = 60,
    hybrid: bool = False,
    own_midpoints: bool = False,
    tolerance: float = 1e-8,
    max_iterations: int = 25,
    progress: Progress | None = None,
) -> RodMotion:
    """Motion of a system of one rod from ``state`` over ``duration`` [s] in implicit steps [s], by multiple shooting.

    ``segments`` shoots over ``nodes`` intervals in all. The accelerations of the state are taken as they are (zero in a
    state at rest, as in Boyer 2023); ``forward_dynamics(system, state, inputs)`` gives those that the loads ask for.
    Newton stops when its correction is below ``tolerance``, in rad over the rod, and the like for velocities and
    wrenches. ``progress(time, end)`` is called now and then.

    Each end may be free, loaded, clamped, or partly held (``Hold``, ``Spherical``): pinned, guided, turned; the base
    may also be driven. ``method`` is Newmark (¼, ½), or, where an end is held by its reaction, generalized-α with
    ρ∞ = 0.6. Poses are held at each new instant, to the tolerance of Newton; twists and accelerations of what is held
    follow from the scheme (index 3), and ring about zero. Newmark does not damp that: strain accelerations grow without
    bound and twists near the held end become useless, while positions stay good for some periods. Damped, the ringing
    of a start that jumps dies out.

    A step can be too *short*: errors along s enter the strain acceleration divided by h²/4, and ring. An
    :class:`ElverWarning` is given when this grows, before it is seen in positions, or when the nodes do not resolve the
    step; a step that leaves no digit is refused. ``own_midpoints=True`` keeps a history of midpoints too, as codes of
    the literature do, it seems: it rings far earlier.

    A step that fails raises :class:`NotConverged`, Ctrl-C :class:`Interrupted`, with the motion so far in ``.result``.
    """
    positive("duration", duration, "s")
    positive("step", step, "s")
    if step > duration:
        raise BadInput(f"step = {step:g} s is longer than the duration {duration:g} s: choose a smaller step")
    for name, value in (("segments", segments), ("nodes", nodes), ("max_iterations", max_iterations)):
        if not np.isfinite(value) or int(value) != value or value < 1:
            raise BadInput(f"{name} = {describe(value)}: give a whole number, at least 1")
    if nodes < segments:
        raise BadInput(f"segments = {segments}, nodes = {nodes}: give a node for each segment, at least")
    positive("tolerance", tolerance, "rad")
    _, first, inputs = situation(system, state, inputs)
    system.signals(inputs)
    # all steps are alike, since histories of strain accelerations are; they are shortened to fit, never lengthened
    count = max(1, int(np.ceil(duration / step * (1.0 - 1e-9))))
    step = step if abs(count * step - duration) < 1e-9 * duration else duration / count
    grid = RodGrid(system, int(segments), max(1, round(nodes / segments)), hybrid)
    check_ends(grid)
    held = bool(grid.problem.tip.held) or 0 < grid.problem.base.held < 6
    scheme = TimeScheme.of(method, step, held and not hybrid)
    if hybrid and scheme != TimeScheme(step, *NEWMARK):
        raise BadInput("hybrid=True is the trapezoidal rule for twists: leave method out, or give Newmark()")
    growth = growth_per_segment(grid.problem, step, grid.segments)
    march = ShootingRun(grid, first, inputs, scheme, tolerance, int(max_iterations), own_midpoints)
    if growth > HOPELESS:
        raise BadInput(f"shooting_dynamics: shooting has no digit left: {march.trouble}")
    if 2 * grid.segments * grid.steps < nodes_needed(grid.problem, step):
        warn(f"shooting_dynamics: {march.trouble}")
    try:
        _run(march, first.time + step * np.arange(1.0, count + 1.0), progress)
    except KeyboardInterrupt:
        raise Interrupted(
            f"shooting_dynamics: interrupted at t = {march.time:g} s; what was computed is in .result",
            result=_motion(march, growth),
        ) from None
    except Exception as error:
        # Newton, or an input function of the user's: either way nothing is lost
        error.result = _motion(march, growth)  # type: ignore[attr-defined]
        raise
    return _motion(march, growth)


def _run(march: ShootingRun, times: Array, progress: Progress | None) -> None:
    """All steps; a warning when the strain acceleration begins to ring."""
    warned, shown = False, clock.perf_counter()
    for t in times:
        march.advance(float(t))
        heard = march.records[-1].ringing
        if heard > LOUD and not warned and march.listener.grows:
            warned = True
            warn(f"shooting_dynamics: from t = {t:g} s on, {march.trouble}")
        if progress is not None and (clock.perf_counter() - shown > _PROGRESS_SECONDS or t == times[-1]):
            shown = clock.perf_counter()
            progress(float(t), float(times[-1]))


def _motion(march: ShootingRun, growth: float) -> RodMotion:
    """All that was computed."""
    grid, records = march.grid, list(march.records)
    states = np.array([grid.join(record.path) for record in records])
    return RodMotion(
        time=np.array([record.time for record in records]),
        s=grid.join(grid.s[:, ::2]),
        pose=poses_of(states),
        twist=states[..., 12:18],
        strain=np.array([grid.join(record.strain) for record in records]) + grid.join(grid.at[:, ::2, 6:12]),
        wrench=states[..., 24:30],
        iterations=np.array([record.iterations for record in records]),
        strain_acceleration=np.array([record.acceleration for record in records]),
        ringing=np.array([record.ringing for record in records]),
        growth=growth,
    )
