"""A second evaluator of one rod, by Chebyshev collocation of its differential equations: ``Spectral()``.

Gotelli 2024, section 3.8: once the strain is given, every equation along the rod is linear in its own field,
so they are solved in cascade on Chebyshev-Lobatto nodes. From the base: quaternion H, position p, then

    Ω′ = -K×Ω + K̇                       V′ = -K×V - Γ×Ω + Γ̇
    Ω̇′ = -K×Ω̇ - K̇×Ω + K̈                V̇′ = -K×V̇ - Γ×Ω̇ - K̇×V - Γ̇×Ω + Γ̈

and from the tip the stress Λ = (C; N), with (p_C; p_N) = 𝓜η̇ - ad(η)ᵀ𝓜η - F̄:

    N′ = -K×N + p_N                      C′ = -K×C - Γ×N + p_C

The residual R = ∫ΦᵀBᵀ(Λ_act + 𝓗BΦq + 𝓓BΦq̇ - Λ) ds takes its last term by Clenshaw-Curtis quadrature; what
acts on the strain itself (elasticity, damping, tendons, muscles) comes from the compiled kernels. The rod is
cut into smooth elements at the breaks of its basis, where loads begin or end, and at wrenches and holds.

The tangent is the exact derivative of these discrete equations: the same matrices, with the variations of all
unknowns as right-hand sides. This evaluator shares neither grid, nor frames, nor formulas with the compiled
recursion, and converges faster than any power of the number of nodes; it is the slower of the two, made for
comparison. Conventions: fields in section axes, poses relative to the base, six-vectors angular first.

Theory: docs/theory/rods.md, eq. (twist-along-the-rod), (balance).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.dynamics.assembly import Assembly
from elver.dynamics.cascade import Fields, fields_of, turn
from elver.dynamics.collocation import Collocation, Element, discretise
from elver.dynamics.core import Core
from elver.dynamics.increments import Increments
from elver.dynamics.states import Arrays
from elver.dynamics.structure import Structure
from elver.environment import Buoyancy, FrameLoad, Gravity, Lighthill, Morison
from elver.errors import BadInput
from elver.kernels.build import entry
from elver.kernels.build.warmup import ensure
from elver.kernels.march.memory import Scratch, Track
from elver.kernels.terms.strain_loads import point_slopes, strain_residual, strain_tangent
from elver.lie import so3
from elver.system import System

__all__ = ["SpectralCore"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class Closure:
    """Rows of the holds at a station: residual, rows on the body twist, their gradient with the rotation."""

    value: float
    row: Array  # (6,)
    gradient: Array  # (6, 3)


class SpectralCore(Core):
    """Residual and tangent of a system with one rod, by collocation; same calls as the compiled ``Core``.

    Strain-level forces and the rows of holds are those of the compiled core. The solvers are the compiled ones run as
    plain Python, with this residual and tangent.
    """

    def __init__(self, system: System, structure: Structure | None = None, assembly: Assembly | None = None) -> None:
        if wet := [one.name for one in system.loads if isinstance(one, Morison | Lighthill | Buoyancy)]:
            raise BadInput(f"{wet[0]!r}: Spectral integration knows no water; use Magnus(order=6), the default")
        if any(rod.material.mass_damping for rod in system.mechanism.rods):
            raise BadInput("mass_damping: Spectral integration does not know it; use Magnus(order=6), the default")
        if own := [one.name for one in system.loads if isinstance(one, FrameLoad)]:
            raise BadInput(
                f"{own[0]!r}: Spectral integration has no frame for a load of one's own to act on; use Magnus(order=6)"
            )
        ensure(("spectral",), "forces on strains", 5)
        self.elements, self.stations = discretise(system)
        super().__init__(system, structure, assembly)

    def residual(self, a: Arrays, u: Array, jets: int = 3) -> Array:
        """R with closure rows below, (coordinates + rows,)."""
        R, _ = self._evaluate(a, u, np.zeros(3), 0, self.jets(a, u, jets))
        self._strain_residual(a, u, R)
        if self.program.own_input.size:
            self.work.residual[:] = 0.0
            entry.own_stresses(self.robot, np.ascontiguousarray(a.q), u, 0)
            R += self.work.residual
        return R

    def base_wrench(self, a: Arrays, u: Array) -> Array:
        """Body wrench (6,) that must act on the base for this motion, by the compiled recursion."""
        entry.evaluate_residual(self.robot, a.base, a.twist, a.q, a.multipliers, u, 3)
        return super().base_wrench(a, u)

    def tangent(self, a: Arrays, u: Array, weights: tuple[float, float, float], jets: int = 3) -> Array:
        """w_0 ∂R/∂q + w_1 ∂R/∂q' + w_2 ∂R/∂q'' with closure blocks, in body variations of the base."""
        w, jets = np.array(weights, dtype=float), self.jets(a, u, jets)
        _, matrix = self._evaluate(a, u, w, self.coordinates + self.rows, jets)
        self._strain_residual(a, u, np.zeros(self.coordinates + self.rows))
        point_slopes(self.robot, a.q, a.multipliers, u)
        if self.program.own_input.size:
            entry.own_slopes(self.robot, np.ascontiguousarray(a.q), u)
        strain_tangent(self.robot, a.q, w, jets, matrix)
        return matrix

    @property
    def increments(self) -> Increments:
        """By the matrix."""
        return Increments(False, "rods by collocation have equations of their own")

    def solve(self, scheme: str, scratch: Scratch, track: Track, *more: Any) -> int:
        """The solver of a scheme, in Python."""
        own = self._fill_residual, _nothing, self._fill_matrix
        return self.solve_in_python(scheme, own, scratch, track, *more)

    def _fill_residual(
        self, _: Any, base: Array, twist: Array, q: Array, multipliers: Array, u: Array, jets: int
    ) -> None:
        self._at = Arrays(base.copy(), twist.copy(), q.copy(), multipliers.copy())
        self.work.residual[:] = self.residual(self._at, u, jets)

    def _fill_matrix(self, _: Any, q: Array, multipliers: Array, u: Array, columns: Array, w: Array, jets: int) -> None:
        """Weighted tangent at the last residual, with any body variations (δζ, δη, δη̇) of the base as columns."""
        units = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        if not self.system.free:
            self.work.matrix[:] = self.tangent(self._at, u, (w[0], w[1], w[2]), jets)
            return
        parts = [self.tangent(self._at, u, unit, jets) for unit in units]
        self.work.matrix[:] = sum(w[k] * parts[k] for k in range(3))
        self.work.matrix[:, self.coordinates :] = parts[0][:, self.coordinates :]
        self.work.matrix[:, :6] = sum(parts[k][:, :6] @ columns[6 * k : 6 * k + 6] for k in range(3))

    def positions(self, a: Arrays) -> tuple[Array, Array]:
        """Arc lengths [m] of all nodes and positions [m] there in world axes, (nodes,) and (nodes, 3)."""
        fields = self._forward(a, np.zeros(3), 0, jets=3)
        p = np.concatenate([f.p for f in fields])
        return np.concatenate([e.s for e in self.elements]), a.base[3] + p @ a.base[:3].T

    def _strain_residual(self, a: Arrays, u: Array, R: Array) -> None:
        strain_residual(self.robot, a.q, a.multipliers, u, 3, R)

    # Forward pass -------------------------------------------------------------------------------------------

    def _forward(self, a: Arrays, w: Array, columns: int, jets: int) -> list[Fields]:
        """Fields of all elements from base to tip; ``columns`` is 0 when no variation is wanted."""
        offset = self.coordinates - self.n
        moving = float(jets == 3)
        h, p = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
        eta, eta_dot = moving * a.twist[0], moving * a.twist[1]
        d_h, d_p, d_eta, d_eta_dot = (np.zeros((size, columns)) for size in (4, 3, 6, 6))
        if offset and columns:
            d_eta[:, :6], d_eta_dot[:, :6] = w[1] * np.eye(6), w[2] * np.eye(6)
        fields = []
        for e in self.elements:
            xi = e.xi_rest + e.B_Phi @ a.q[0]
            xi_dot, xi_ddot = moving * e.B_Phi @ a.q[1], moving * e.B_Phi @ a.q[2]
            d_xi = np.zeros((e.s.size, 6, columns))
            if columns:
                d_xi[:, :, offset : self.coordinates] = e.B_Phi
            f = fields_of(e, xi, xi_dot, xi_ddot, d_xi, w, (h, p, eta, eta_dot), (d_h, d_p, d_eta, d_eta_dot))
            fields.append(f)
            h, p, eta, eta_dot = f.h[-1], f.p[-1], f.eta[-1], f.eta_dot[-1]
            d_h, d_p, d_eta, d_eta_dot = f.d_h[-1], f.d_p[-1], f.d_eta[-1], f.d_eta_dot[-1]
        return fields

    # Backward pass and projection ---------------------------------------------------------------------------

    def _evaluate(self, a: Arrays, u: Array, w: Array, columns: int, jets: int) -> tuple[Array, Array]:
        offset, size = self.coordinates - self.n, self.coordinates + self.rows
        fields = self._forward(a, w, columns, jets)
        R, matrix = np.zeros(size), np.zeros((size, columns))
        stress, d_stress = np.zeros(6), np.zeros((6, columns))
        own = slice(offset, self.coordinates)
        for k in range(len(self.elements), -1, -1):
            # the station beyond: Λ before = Λ after + F_ext
            f, node = (fields[k - 1], -1) if k else (fields[0], 0)
            F, d_F = self._at_station(k, f, node, a, u, w, columns, R, matrix)
            stress, d_stress = stress + F, d_stress + d_F
            if not k:
                break
            e = self.elements[k - 1]
            Lambda, d_Lambda = self._stress(e, f, a, u, w, stress, d_stress)
            R[own] -= np.einsum("i,ica,ic->a", e.weights, e.B_Phi, Lambda)
            matrix[own] -= np.einsum("i,ica,ick->ak", e.weights, e.B_Phi, d_Lambda)
            stress, d_stress = Lambda[0], d_Lambda[0]
        if offset:
            R[:6] -= stress
            matrix[:6] -= d_stress
        return R, matrix

    def _rotations(self, f: Fields, w: Array, columns: int) -> Array:
        """Body rotation of the sections in the world, base included: R_relᵀ δζ_0 + δθ, (N, 3, columns)."""
        d_theta = f.d_theta.copy()
        if columns and self.system.free:
            d_theta[:, :, :3] += w[0] * np.swapaxes(f.R, 1, 2)
        return d_theta

    def _gravity(self, u: Array) -> Array:
        for channel, load in enumerate(self.system.channels):
            if isinstance(load, Gravity):
                return u[channel] * np.asarray(load.acceleration, dtype=float)
        return np.zeros(3)

    def _stress(
        self, e: Element, f: Fields, a: Arrays, u: Array, w: Array, tip: Array, d_tip: Array
    ) -> tuple[Array, Array]:
        """Λ at the nodes of an element from its value at the far end, (N, 6), and its variation."""
        columns = d_tip.shape[1]
        d_theta = self._rotations(f, w, columns)
        to_section = np.swapaxes(a.base[:3] @ f.R, 1, 2)
        I, m = e.inertia[:, :3], e.inertia[:, 3:]
        Omega, V = f.eta[:, :3], f.eta[:, 3:]
        d_Omega, d_V = f.d_eta[:, :3], f.d_eta[:, 3:]
        # (p_C; p_N) = 𝓜η̇ - ad(η)ᵀ𝓜η - F̄
        p_C = I * f.eta_dot[:, :3] + np.cross(Omega, I * Omega) + np.cross(V, m * V)
        p_N = m * f.eta_dot[:, 3:] + np.cross(Omega, m * V)
        d_p_C = (
            I[..., None] * f.d_eta_dot[:, :3]
            + turn(Omega, I[..., None] * d_Omega)
            - turn(I * Omega, d_Omega)
            + turn(V, m[..., None] * d_V)
            - turn(m * V, d_V)
        )
        d_p_N = m[..., None] * f.d_eta_dot[:, 3:] + turn(Omega, m[..., None] * d_V) - turn(m * V, d_Omega)
        weight = m * (to_section @ self._gravity(u))
        p_N = p_N - weight
        d_p_N = d_p_N - turn(weight, d_theta)
        for load in e.loads:
            density = u[load.channel] * load.wrench
            c, n = density[:, :3], density[:, 3:]
            if not load.follows:
                c, n = np.einsum("iab,ib->ia", to_section, c), np.einsum("iab,ib->ia", to_section, n)
                d_p_C, d_p_N = d_p_C - turn(c, d_theta), d_p_N - turn(n, d_theta)
            p_C, p_N = p_C - c, p_N - n
        K, Gamma = f.xi[:, :3], f.xi[:, 3:]
        d_K, d_Gamma = f.d_xi[:, :3], f.d_xi[:, 3:]
        back = Collocation(e.D, so3.hat(K), from_tip=True)
        N = back.solve(p_N[..., None], tip[3:, None])[..., 0]
        C = back.solve((p_C - np.cross(Gamma, N))[..., None], tip[:3, None])[..., 0]
        d_N, d_C = np.zeros_like(d_p_N), np.zeros_like(d_p_C)
        if columns:
            d_N = back.solve(d_p_N + turn(N, w[0] * d_K), d_tip[3:])
            varied = d_p_C - turn(Gamma, d_N) + turn(N, w[0] * d_Gamma) + turn(C, w[0] * d_K)
            d_C = back.solve(varied, d_tip[:3])
        return np.concatenate([C, N], axis=1), np.concatenate([d_C, d_N], axis=1)

    def _at_station(
        self,
        k: int,
        f: Fields,
        node: int,
        a: Arrays,
        u: Array,
        w: Array,
        columns: int,
        R: Array,
        matrix: Array,
    ) -> tuple[Array, Array]:
        """External wrench at a station in section axes, and its variation; closure rows into R and matrix."""
        F, d_F = np.zeros(6), np.zeros((6, columns))
        d_theta = self._rotations(f, w, columns)[node]
        rotation = a.base[:3] @ f.R[node]
        station, p = self.stations[k], self.program
        for load in station.loads:
            wrench = u[load.channel] * load.wrench
            if not load.follows:
                wrench = np.concatenate([rotation.T @ wrench[:3], rotation.T @ wrench[3:]])
                d_F += np.vstack([so3.hat(wrench[:3]), so3.hat(wrench[3:])]) @ d_theta
            F += wrench
        if not station.rows:
            return F, d_F
        # body translation of the section in the world: R_relᵀ (δp + δζ_0,v + δζ_0,ω × p)
        d_point = f.d_p[node].copy()
        if columns and self.system.free:
            d_point[:, :3] -= w[0] * so3.hat(f.p[node])
            d_point[:, 3:6] += w[0] * np.eye(3)
        d_zeta = np.vstack([d_theta, f.R[node].T @ d_point])
        position = a.base[3] + a.base[:3] @ f.p[node]
        of = np.repeat(np.arange(len(p.closure_rows)), p.closure_rows[:, 1])
        for j in station.rows:
            row = self.coordinates + j
            if not np.any(p.row_axes[j]):  # a redundant row: its multiplier is zero
                R[row] = a.multipliers[j]
                matrix[row, row : row + 1] = 1.0
                continue
            held = _closure(p.closure_pose[of[j], 0], p.row_axes[j], rotation, position)
            R[row] = held.value
            F -= a.multipliers[j] * held.row
            matrix[row] += held.row @ d_zeta
            d_F -= a.multipliers[j] * held.gradient @ d_theta
            d_F[:, row : row + 1] -= held.row[:, None]
        return F, d_F


def _nothing(*_: Any) -> None:
    """The part of a tangent that is not taken apart here."""


def _closure(target: Array, axes: Array, R_world: Array, p_world: Array) -> Closure:
    """Ψ = Ā (log R; p) of a section seen from its target, J = Ā diag(T⁻¹, R), and its gradient."""
    R, p = target[:3].T @ R_world, target[:3].T @ (p_world - target[3])
    theta = so3.log(R)
    inverse = so3.dexp_inv(theta)
    row = np.concatenate([axes[:3] @ inverse, axes[3:] @ R])
    turning = np.stack([axes[:3] @ so3.d_dexp_inv(theta, inverse[:, c]) for c in range(3)], axis=1)
    gradient = np.vstack([turning, so3.hat(R.T @ axes[3:])])
    return Closure(float(axes[:3] @ theta + axes[3:] @ p), row, gradient)
