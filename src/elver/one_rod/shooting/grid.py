"""One rod on its grid along s: all that the compiled shoot (:mod:`elver.kernels.one_rod.shoot`) asks for at an instant.

The rod is cut into segments of equal length, each with ``steps`` Runge-Kutta steps. Fields are kept at nodes and
midpoints, (segments, 2 steps + 1, 6); ``at`` holds them in the columns that the kernel names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elver.environment import Lighthill
from elver.errors import BadInput
from elver.kernels.build import entry
from elver.kernels.one_rod.views import HYBRID, motion_for, section_for, table
from elver.lie import se3
from elver.one_rod.problem import RodProblem
from elver.one_rod.shooting.static_flow import rod_of, tendon_table
from elver.one_rod.shooting.time_scheme import Rates
from elver.rods import Rod
from elver.system import Inputs, System

__all__ = ["RodGrid", "poses_of"]

Array = NDArray[np.float64]


class RodGrid:
    """The only rod of a system between the nodes of its segments."""

    def __init__(self, system: System, segments: int, steps: int, hybrid: bool) -> None:
        self.system, self.segments, self.steps, self.hybrid = system, segments, steps, hybrid
        self.water = next((load for load in system.loads if isinstance(load, Lighthill)), None)
        dry = tuple(load for load in system.loads if load is not self.water)
        self.dry = System(system.mechanism, system.actuators, dry)
        self.problem = RodProblem.of(self.dry)  # which says so where there is more than one rod
        self.rod: Rod = system.mechanism.rod
        if alpha := self.rod.mass_damping:
            raise BadInput(f"mass_damping = {alpha:g} 1/s is not part of this problem: use ev.simulate")
        L = self.problem.length
        self.h = L / (segments * steps)
        self.s = (np.arange(segments)[:, None] * steps + 0.5 * np.arange(2 * steps + 1)) * self.h
        flat = self.s.ravel()
        at = np.zeros((flat.size, 55))
        sections = self.problem.at(flat)
        at[:, :6], at[:, 6:12] = sections.stiffness, sections.rest_strain
        at[:, :6][at[:, :6] == 0.0] = 1.0
        # the strains of this rod are those found last: where Newton starts at each section
        self._rod = rod_of(self.problem, sections, (segments, 2 * steps + 1), (at, tendon_table(sections)))
        self._rod.how[HYBRID], self._rod.step[:] = hybrid, self.h
        self.at, self._section, self._scratch = self._rod.at, section_for(), motion_for(1)
        inertia = np.asarray(self.problem.inertia(flat))
        self._put(48, inertia[:, 3:4])
        self.tail = np.zeros(6)
        if self.water is not None:
            added = self.water.added(*self.rod.section.half_widths(flat, L))
            inertia = inertia + np.stack([added[:, 2], *(0.0 * added.T[:3]), added[:, 0], added[:, 1]], axis=1)
            self.tail = np.array([added[-1, 2], 0.0, 0.0, 0.0, added[-1, 0], added[-1, 1]])
        self._put(18, inertia)
        self.active = self._rod.active
        self.damping = self.rod.material.damping
        self.bending = self.problem.bending_stiffness
        self.unit = np.concatenate([np.ones(3), np.full(3, L)])  # of a twist, in rad/s
        self.strain_unit = np.concatenate([np.full(3, L), np.ones(3)])  # L K and Γ are numbers
        self.load(None, 0.0)

    def _put(self, column: int, values: Array) -> None:
        values = np.asarray(values)
        self.at[:, :, column : column + values.shape[1]] = values.reshape(self.segments, 2 * self.steps + 1, -1)

    # Loads and strains -----------------------------------------------------------------------------------------

    def load(self, inputs: Inputs | None, time: float) -> RodProblem:
        """Actuation and loads at an instant into the arrays."""
        problem = RodProblem.of(self.dry, inputs, time)
        self.sections = problem.at(self.s.ravel())
        self._put(12, self.sections.muscle)
        self._put(36, self.sections.dead)
        self._put(49, self.sections.follower)
        pulls = tendon_table(self.sections).reshape(self.segments, 2 * self.steps + 1, -1, 10)
        self._rod = self._rod._replace(pulls=pulls)
        return problem

    def stress(self, strain: Array) -> Array:
        """Λ of free strains by their law without damping, on the grid; zero for others."""
        xi = (self.at[:, :, 6:12] + strain).reshape(-1, 6)
        return np.asarray(self.active * self.sections.stress(xi)[0].reshape(strain.shape))

    def strains(self, path: Array, scheme: Array) -> Array:
        """ε at nodes and midpoints, from the stress: cubic between the nodes, with its slopes."""
        stress = np.zeros((self.segments, 2 * self.steps + 1, 6))
        Y, slope = path[:, :, 24:30], path[:, :, 30:36]
        stress[:, ::2] = Y
        stress[:, 1::2] = 0.5 * (Y[:, :-1] + Y[:, 1:]) + self.h / 8.0 * (slope[:, :-1] - slope[:, 1:])
        rates = self.at[:, :, 24:30]
        if self.problem.law is None:
            stress -= scheme[2] * self.at[:, :, :6] * rates
        else:
            H = self._rod.stiffness.reshape(*rates.shape, 6)
            stress -= scheme[2] * np.einsum("mpik,mpk->mpi", H, rates)
        rod = self._rod._replace(strains=self._rod.strains.copy())
        entry.section_strains(table(rod, self._section), 1.0 + scheme[2] * scheme[0], stress)
        return np.asarray(self.active * (rod.strains - self.at[:, :, 6:12]))

    def strain_field(self, q: Array) -> Array:
        """B Φ(s) q of coordinates of the rod, on the grid."""
        select = np.eye(6)[self.rod.component]  # the strain of each coordinate
        values = (self.rod.functions(self.s.ravel()) * q) @ select
        return np.asarray(values.reshape(self.segments, 2 * self.steps + 1, 6))

    # Between nodes ---------------------------------------------------------------------------------------------

    def join(self, values: Array) -> Array:
        """One row for each node along the rod, (nodes, ...), from values at the nodes of the segments."""
        return np.concatenate([values[0], *[part[1:] for part in values[1:]]])

    def between(self, values: Array) -> Array:
        """A field at nodes and midpoints from its values at the nodes: cubic through the four nearest of the rod."""
        field = np.empty((self.segments, 2 * self.steps + 1, values.shape[-1]))
        field[:, ::2] = values
        Y = self.join(values)
        middle = 0.5 * (Y[:-1] + Y[1:])
        if len(Y) >= 4:
            middle[1:-1] = (9.0 * (Y[1:-2] + Y[2:-1]) - Y[:-3] - Y[3:]) / 16.0
            for end, (a, b, c, d) in ((0, Y[:4]), (-1, Y[:-5:-1])):
                middle[end] = (5.0 * a + 15.0 * b - 5.0 * c + d) / 16.0
        field[:, 1::2] = middle.reshape(self.segments, self.steps, -1)
        return field

    def nodes_only(self, rates: Rates) -> Rates:
        """Rates whose midpoints follow the nodes."""
        return Rates(*(self.between(x[:, ::2]) for x in rates))

    # Along s ---------------------------------------------------------------------------------------------------

    def integrate(self, scheme: Array, ends: Array, variation: Array | None, gravity: Array) -> Array:
        """Shoot over all segments: ``ends`` and ``variation`` in place; path (segments, steps + 1, 36)."""
        path = np.zeros((self.segments, self.steps + 1, 36))
        columns = np.zeros((self.segments, 24, 1)) if variation is None else variation
        if columns.shape[2] != self._scratch.trial.shape[2]:
            self._scratch = motion_for(columns.shape[2])
        self._rod.scheme[:], self._rod.gravity[:] = scheme, gravity
        rod = table(self._rod, self._section, self._scratch)
        entry.shoot_segments(rod, int(variation is not None), ends, columns, path)
        return path

    def kinematics(self, g: Array, eta: Array, eta_dot: Array, strain: Array, rates: Rates) -> Array:
        """States (segments, steps + 1, 36) of strains and their rates, the stress of free strains by their law."""
        at, h = self.at, self.h
        path = np.zeros((self.segments, self.steps + 1, 36))
        xi = at[:, :, 6:12] + strain
        stress = self.stress(strain)

        def slope(x: Array, x_dot: Array, x_ddot: Array, twist: Array) -> Array:
            ad = se3.ad(x)
            return np.array([x_dot - ad @ twist[0], x_ddot - ad @ twist[1] - se3.ad(x_dot) @ twist[0]])

        twist = np.array([eta, eta_dot])
        for m in range(self.segments):
            for k in range(0, 2 * self.steps + 1, 2):
                path[m, k // 2, :30] = np.concatenate([g[:3, :3].ravel(), g[:3, 3], *twist, stress[m, k]])
                if k == 2 * self.steps:
                    break
                fields = [(xi[m, j], rates.first[m, j], rates.second[m, j]) for j in (k, k + 1, k + 2)]
                k1 = slope(*fields[0], twist)
                k2 = slope(*fields[1], twist + 0.5 * h * k1)
                k3 = slope(*fields[1], twist + 0.5 * h * k2)
                k4 = slope(*fields[2], twist + h * k3)
                twist = twist + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
                # Simpson in the exponent is Magnus of order 4
                x0, x1, x2 = xi[m, k : k + 3]
                g = g @ se3.exp(h / 6.0 * (x0 + 4.0 * x1 + x2) + h * h / 12.0 * se3.ad(x0) @ x2)
        return path


def poses_of(states: Array) -> Array:
    """Poses (..., 4, 4) of states (..., 30 or more)."""
    g = np.tile(np.eye(4), (*states.shape[:-1], 1, 1))
    g[..., :3, :3], g[..., :3, 3] = states[..., :9].reshape(*states.shape[:-1], 3, 3), states[..., 9:12]
    return g
