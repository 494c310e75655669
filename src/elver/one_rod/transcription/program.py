"""Nonlinear programs of one rod at rest: transcription of its potential into CasADi expressions.

Between nodes s_0 … s_N the strain is constant (super-helix) or linear (super-clothoid) and a Runge-Kutta-Munthe-Kaas
step carries the pose. The program is

    minimise  Σ element energies (elastic, weight, tendons, muscles) - work of dead loads at the ends
    subject to  x_{i+1} = Ψ(x_i, u_i)     defects, with the poses x_i as unknowns in multiple shooting,
                end conditions            position, and the logarithm of the rotation, of the tip: at most six equations
                given constraints         equalities and inequalities at nodes

In single shooting the poses are eliminated. The multiplier of the defect of x_i is the wrench that the part beyond s_i
exerts on the part before it: its force is the multiplier of the position (Blumentals 2017, section 6.4), its couple is
read from that of the rotation.

**States.** In space the position and the nine entries of the rotation; in the plane of the base's x and y (free strains
among K_z, Γ_x, Γ_y, and nothing that leaves the plane) two coordinates and an angle.

**Quadrature.** Constant strain: midpoint. Linear strain: trapezoidal rule with steps of order 1 and 2 (the source's
choice), Simpson's rule with order 4. Weight: trapezoidal rule, with order 4 Simpson's rule on the cubic through the
positions and tangents of the ends.

**Scale.** Lengths in units of L, energies in units of B/L with B the smallest bending stiffness of the free strains, so
that unknowns, multipliers and tolerances are of order one whatever the rod.

Conventions: six-vectors angular first, tangent x, body frame; world poses.

Theory: docs/theory/optimal-control.md, eq. (direct-program).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput
from elver.one_rod.checks import PLANAR_STRAINS
from elver.one_rod.transcription.maps import Map, casadi, increment, retract, rotation_vector
from elver.one_rod.transcription.own_energy import OwnEnergy
from elver.rods import FullLaw, Law, SectionLaw

__all__ = ["NodeLayout", "NodeConstraint", "NonlinearProgram", "program"]

Array: TypeAlias = NDArray[np.float64]
Expression: TypeAlias = Any

_HEAD = 24 + 6 + 6 + 3  # poses of the ends, wrenches on base and tip, length, index, unit of energy times length


@dataclass(frozen=True)
class NodeConstraint:
    """A function of (s, position, rotation, strain) at some nodes, with the width of what it returns."""

    trace: str
    """The function as CasADi writes it, with the numbers that it takes from outside: programs are kept by it."""
    name: str
    nodes: tuple[int, ...]
    width: int


@dataclass(frozen=True)
class NodeLayout:
    """What shapes a program; numbers (lengths, stiffness, loads, poses) are its parameters."""

    elements: int
    starts: tuple[int, ...]
    """First element of every stretch on which fields are smooth; strains may jump between stretches."""
    free: tuple[int, ...]
    strain: str
    map: Map
    order: int
    planar: bool
    tendons: int
    base_free: tuple[int, ...]
    """Of the six motions of the base those that are free: turns about its axes, shifts along world axes (in the plane:
    along its own)."""
    tip_held: tuple[int, ...]
    """Of the six rows of the tip's error those that are zero: log(R_holdᵀ R), then p - p_hold in world axes (in the
    plane: in its axes; of a ring: in those of its base)."""
    closed: bool
    """The tip's pose is given relative to the base."""
    index: bool
    constraints: tuple[NodeConstraint, ...] = ()
    law: SectionLaw | None = None
    """A full one has 36 numbers for 𝓗 at each place; one of one's own is asked by CasADi."""

    @property
    def own_law(self) -> Law | None:
        return self.law if isinstance(self.law, Law) else None

    @property
    def state(self) -> int:
        return 3 if self.planar else 12

    @property
    def columns(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which column of strain unknowns stands at the start and at the end of each element."""
        i = np.arange(self.elements)
        if self.strain == "constant":
            return i, i
        stretch = np.searchsorted(np.asarray(self.starts), i, side="right") - 1
        return i + stretch, i + stretch + 1

    @property
    def strain_columns(self) -> int:
        return int(self.columns[1][-1]) + 1

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Unknowns: motions of the base, strains, states."""
        return len(self.base_free), len(self.free) * self.strain_columns, self.state * (self.elements + 1)

    @property
    def stiffness(self) -> int:
        """Numbers of 𝓗 at a place: its diagonal, or all of it."""
        return 36 if isinstance(self.law, FullLaw) else 6

    @property
    def place(self) -> int:
        """Parameters of a place: 𝓗, ξ₀, Λ_act, n̄ and the tendons."""
        return self.stiffness + 15 + 7 * self.tendons

    @property
    def element_size(self) -> int:
        """Parameters of an element: length, arc length, then those of its start, middle and end."""
        return 2 + 3 * self.place

    @property
    def weights(self) -> tuple[float, float, float]:
        """Of the quadrature: start, middle and end of an element."""
        if self.strain == "constant":
            return 0.0, 1.0, 0.0
        return (1 / 6, 4 / 6, 1 / 6) if self.order == 4 else (0.5, 0.0, 0.5)


class NonlinearProgram:
    """CasADi functions of one layout."""

    def __init__(self, layout: NodeLayout) -> None:
        self.layout = layout
        self.ca = casadi()

    # Elements ---------------------------------------------------------------------------------------------

    def _pose(self, state: Expression, head: Expression) -> tuple[Expression, Expression]:
        """World rotation and position (in units of L) of a state."""
        ca = self.ca
        if not self.layout.planar:
            return ca.reshape(state[3:], 3, 3), state[:3]
        R_base, p_base = ca.reshape(head[3:12], 3, 3), head[:3]
        c, s = ca.cos(state[2]), ca.sin(state[2])
        turn = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        return R_base @ turn, p_base + R_base[:, :2] @ state[:2]

    def _samples(self, e: Expression) -> list[list[Expression]]:
        width, n = self.layout.place, self.layout.stiffness
        parts = (e[2 + k * width : 2 + (k + 1) * width] for k in range(3))
        return [
            [
                x[:n], x[n : n + 6], x[n + 6 : n + 12], x[n + 12 : n + 15],
                *(x[n + 15 + 7 * j : n + 22 + 7 * j] for j in range(self.layout.tendons)),
            ]
            for x in parts
        ]  # fmt: skip

    def _strains(self, ua: Expression, ub: Expression, e: Expression) -> list[Expression]:
        """ξ at start, middle and end of an element: unknowns where free, the rest strain elsewhere."""
        return [self._strain(u, part[1]) for u, part in zip((ua, 0.5 * (ua + ub), ub), self._samples(e), strict=True)]

    def _strain(self, u: Expression, rest: Expression) -> Expression:
        rows = [u[self.layout.free.index(k)] if k in self.layout.free else rest[k] for k in range(6)]
        if self.layout.planar:  # exact zeros shorten the expressions
            rows = [row if k in PLANAR_STRAINS else self.ca.SX(1, 1) for k, row in enumerate(rows)]
        return self.ca.vertcat(*rows)

    @cached_property
    def step(self) -> Any:
        """(x_i, u at start, u at end, element) → x_{i+1}."""
        ca, layout = self.ca, self.layout
        x, ua, ub, e = self._symbols()
        xi = tuple(self._strains(ua, ub, e))
        theta = increment(e[0], xi, layout.map, layout.order)
        R, p = retract(theta, layout.map)
        if layout.planar:
            angle = theta[2] if layout.map == "exp" else 2.0 * ca.atan(0.5 * theta[2])
            c, s = ca.cos(x[2]), ca.sin(x[2])
            after = ca.vertcat(x[0] + c * p[0] - s * p[1], x[1] + s * p[0] + c * p[1], x[2] + angle)
        else:
            R_a = ca.reshape(x[3:], 3, 3)
            after = ca.vertcat(x[:3] + R_a @ p, ca.vec(R_a @ R))
        return ca.Function("step", [x, ua, ub, e], [after])

    @cached_property
    def energy(self) -> Any:
        """(x_i, x_{i+1}, u at start, u at end, element, head) → potential: elastic, actuators, loads."""
        ca, layout = self.ca, self.layout
        x, ua, ub, e = self._symbols()
        y, head = ca.SX.sym("y", layout.state), ca.SX.sym("head", _HEAD)
        samples, strains, h = self._samples(e), self._strains(ua, ub, e), e[0]

        elastic, actuators = ca.SX(0), ca.SX(0)
        for w, xi, (H, rest, active, _, *tendons) in zip(layout.weights, strains, samples, strict=True):
            if w == 0.0:
                continue
            epsilon = xi - rest
            if isinstance(layout.law, FullLaw):
                elastic += w * h * 0.5 * ca.bilin(ca.reshape(H, 6, 6), epsilon, epsilon)
            for k in layout.free:
                elastic += w * h * 0.5 * H[k] * epsilon[k] ** 2 if layout.law is None else 0.0
                actuators += w * h * active[k] * epsilon[k]
            for tendon in tendons:  # tension, D, D′: T |Γ + K × D + D′|
                D, D_prime = tendon[1:4], tendon[4:7]
                c = xi[3:] + ca.cross(xi[:3], D) + D_prime
                actuators += w * h * tendon[0] * ca.sqrt(ca.dot(c, c))

        (R_a, p_a), (R_b, p_b) = self._pose(x, head), self._pose(y, head)
        f_a, f_m, f_b = (part[3] for part in samples)
        if layout.order == 4:
            p_m = 0.5 * (p_a + p_b) + 0.125 * h * (R_a @ strains[0][3:] - R_b @ strains[2][3:])
            work = h / 6.0 * (ca.dot(f_a, p_a) + 4.0 * ca.dot(f_m, p_m) + ca.dot(f_b, p_b))
        else:
            work = 0.5 * h * (ca.dot(f_a, p_a) + ca.dot(f_b, p_b))
        return ca.Function("energy", [x, y, ua, ub, e, head], [elastic, actuators, -work])

    @cached_property
    def own_energy(self) -> OwnEnergy | None:
        """The law of one's own at all points of the quadrature."""
        count = sum(w != 0.0 for w in self.layout.weights) * self.layout.elements
        return OwnEnergy(self.layout.own_law, count) if self.layout.own_law is not None else None

    @cached_property
    def _points(self) -> Any:
        """(u at start, u at end, element, head) → ε, s and weight in SI units, (8, points with a weight)."""
        ca, layout = self.ca, self.layout
        _, ua, ub, e = self._symbols()
        head = ca.SX.sym("head", _HEAD)
        L = head[36]
        columns = [
            ca.vertcat((xi - part[1])[:3] / L, (xi - part[1])[3:], L * (e[1] + at * e[0]), w * e[0])
            for w, at, xi, part in zip(
                layout.weights, (0.0, 0.5, 1.0), self._strains(ua, ub, e), self._samples(e), strict=True
            )
            if w != 0.0
        ]
        return ca.Function("points", [ua, ub, e, head], [ca.horzcat(*columns)]).map(layout.elements)

    def _elastic(self, U: Expression, head: Expression, E: Expression) -> Expression:
        """Elastic energy, of a law of one's own."""
        if self.own_energy is None:
            return 0.0
        a, b = (list(map(int, c)) for c in self.layout.columns)
        points = self._points(U[:, a], U[:, b], E, self.ca.repmat(head, 1, self.layout.elements))
        stored = self.own_energy.function(points[:6, :], points[6, :], points[7, :])
        return stored * head[36] ** 2 / head[38]

    def _symbols(self) -> tuple[Expression, Expression, Expression, Expression]:
        ca, layout, n = self.ca, self.layout, len(self.layout.free)
        return (
            ca.SX.sym("x", layout.state), ca.SX.sym("ua", n), ca.SX.sym("ub", n), ca.SX.sym("e", layout.element_size),
        )  # fmt: skip

    # Ends and nodes ---------------------------------------------------------------------------------------

    @cached_property
    def base(self) -> Any:
        """(free motions of the base, head) → x_0."""
        ca, layout = self.ca, self.layout
        nu, head = ca.SX.sym("nu", len(layout.base_free)), ca.SX.sym("head", _HEAD)
        move = ca.vertcat(*(nu[layout.base_free.index(k)] if k in layout.base_free else ca.SX(1, 1) for k in range(6)))
        if layout.planar:
            start = ca.vertcat(move[3], move[4], move[2])
        else:
            R_base = ca.reshape(head[3:12], 3, 3)
            turn, _ = retract(ca.vertcat(move[:3], ca.SX(3, 1)), "exp")
            start = ca.vertcat(head[:3] + move[3:], ca.vec(R_base @ turn))
        return ca.Function("base", [nu, head], [start])

    @cached_property
    def ends(self) -> Any:
        """(x_0, x_N, head) → work of the wrenches on the ends; rows of the tip's error; cosine of its angle."""
        ca, layout = self.ca, self.layout
        x, y, head = ca.SX.sym("x", layout.state), ca.SX.sym("y", layout.state), ca.SX.sym("head", _HEAD)
        (R_0, p_0), (R_N, p_N) = self._pose(x, head), self._pose(y, head)
        on_base, on_tip = head[24:30], head[30:36]
        work = ca.dot(on_base[3:], p_0) + ca.dot(on_tip[3:], p_N)
        if layout.planar:  # couples about the normal of the plane
            work += on_base[2] * x[2] + on_tip[2] * y[2]
        R_tip, p_tip = ca.reshape(head[15:24], 3, 3), head[12:15]
        if layout.closed:
            R_tip, p_tip = R_0 @ R_tip, p_0 + R_0 @ p_tip
        turn = R_tip.T @ R_N
        if layout.planar:
            angle = ca.vertcat(ca.SX(2, 1), ca.atan2(turn[1, 0], turn[0, 0]))
        else:
            angle = rotation_vector(turn)
        gap = p_N - p_tip
        if layout.closed:
            gap = R_0.T @ gap
        elif layout.planar:
            gap = ca.reshape(head[3:12], 3, 3).T @ gap
        rows = ca.vertcat(angle, gap)
        held = ca.vertcat(*(rows[k] for k in layout.tip_held)) if layout.tip_held else ca.SX(0, 1)
        return ca.Function("ends", [x, y, head], [work, held, 0.5 * (ca.trace(turn) - 1.0)])

    def node_function(self, constraint: NodeConstraint) -> Any:
        """(s, x, u, ξ₀, head) → values of a given constraint, in its own units."""
        ca, layout = self.ca, self.layout
        s, x, u = ca.SX.sym("s"), ca.SX.sym("x", layout.state), ca.SX.sym("u", len(layout.free))
        rest, head = ca.SX.sym("rest", 6), ca.SX.sym("head", _HEAD)
        L = head[36]
        R, p = self._pose(x, head)
        xi = self._strain(u, rest)
        xi = ca.vertcat(xi[:3] / L, xi[3:])
        value = ca.Function.deserialize(constraint.trace)(L * s, L * p, R, xi)
        return ca.Function("constraint", [s, x, u, rest, head], [value])

    # Program ----------------------------------------------------------------------------------------------

    def _evaluate(self, nu: Expression, U: Expression, X: Expression, head: Expression, E: Expression) -> Any:
        """Potential; what is held at the tip, the index, and given constraints, stacked."""
        ca, layout, N = self.ca, self.layout, self.layout.elements
        a, b = (list(map(int, c)) for c in layout.columns)
        heads = ca.repmat(head, 1, N)
        parts = self.energy.map(N)(X[:, :-1], X[:, 1:], U[:, a], U[:, b], E, heads)
        work, held, _ = self.ends(X[:, 0], X[:, N], head)
        f = sum(ca.sum2(part) for part in parts) - work + self._elastic(U, head, E)
        rows = [held]
        if layout.index:  # total turn about the section's z: planar only
            rows.append(X[2, N] - X[2, 0] - 2.0 * np.pi * head[37])
        for constraint in layout.constraints:
            nodes = list(constraint.nodes)
            before = [min(i, N - 1) for i in nodes]  # the element after each node, at the tip the last
            at_end = [i == N for i in nodes]
            u = ca.horzcat(*(U[:, b[j] if last else a[j]] for j, last in zip(before, at_end, strict=True)))
            places = [2 + layout.stiffness + (2 * layout.place if last else 0) for last in at_end]
            rest = ca.horzcat(*(E[k : k + 6, j] for j, k in zip(before, places, strict=True)))
            s = ca.horzcat(*(E[1, j] + (E[0, j] if last else 0.0) for j, last in zip(before, at_end, strict=True)))
            function = self.node_function(constraint).map(len(nodes))
            rows.append(ca.vec(function(s, X[:, nodes], u, rest, ca.repmat(head, 1, len(nodes)))))
        return f, ca.vertcat(*rows)

    @property
    def _parameters(self) -> tuple[Expression, Expression, Expression]:
        layout = self.layout
        return self._unpacked(self.ca.MX.sym("p", _HEAD + layout.element_size * layout.elements))

    def _unpacked(self, p: Expression) -> tuple[Expression, Expression, Expression]:
        """Parameters, the head of them, and those of each element in columns."""
        return p, p[:_HEAD], self.ca.reshape(p[_HEAD:], self.layout.element_size, self.layout.elements)

    def _unknowns(self, w: Expression) -> tuple[Expression, Expression, Expression]:
        """Motions of the base, strains and states of w = (ν, U, X)."""
        ca, layout = self.ca, self.layout
        n_base, n_strain, _ = layout.sizes
        U = ca.reshape(w[n_base : n_base + n_strain], len(layout.free), layout.strain_columns)
        return w[:n_base], U, ca.reshape(w[n_base + n_strain :], layout.state, layout.elements + 1)

    @cached_property
    def multiple(self) -> tuple[Expression, Expression, Expression, Expression, Expression]:
        """w = (ν, U, X), parameters, potential, defects, other rows."""
        ca, layout, N = self.ca, self.layout, self.layout.elements
        w = ca.MX.sym("w", sum(layout.sizes))
        p, head, E = self._parameters
        nu, U, X = self._unknowns(w)
        a, b = (list(map(int, c)) for c in layout.columns)
        after = self.step.map(N)(X[:, :-1], U[:, a], U[:, b], E)
        defects = ca.vec(X - ca.horzcat(self.base(nu, head), after))
        f, rows = self._evaluate(nu, U, X, head, E)
        return w, p, f, defects, rows

    @cached_property
    def roll(self) -> Any:
        """(v = (ν, U), parameters) → all states, one after the other."""
        ca = self.ca
        v, p, X = self._rolled()
        return ca.Function("roll", [v, p], [ca.vec(X)])

    def _rolled(self) -> tuple[Expression, Expression, Expression]:
        ca, layout, N = self.ca, self.layout, self.layout.elements
        n_base, n_strain, _ = layout.sizes
        v = ca.MX.sym("v", n_base + n_strain)
        p, head, E = self._parameters
        U = ca.reshape(v[n_base:], len(layout.free), layout.strain_columns)
        a, b = (list(map(int, c)) for c in layout.columns)
        start = self.base(v[:n_base], head)
        after = self.step.mapaccum("chain", N)(start, U[:, a], U[:, b], E)
        return v, p, ca.horzcat(start, after)

    def solver(self, shooting: str, options: tuple[tuple[str, Any], ...]) -> Any:
        """Ipopt for this program."""
        key = shooting, options
        if key not in self._solvers:
            ca = self.ca
            if shooting == "multiple":
                w, p, f, defects, rows = self.multiple
                own = {"x": w, "p": p, "f": f, "g": ca.vertcat(defects, rows)}
                # in the plane elements are so small that calling them costs more than writing them out
                expand = {"expand": self.layout.planar and self.layout.elements <= 200 and self.own_energy is None}
                self._solvers[key] = ca.nlpsol("solver", "ipopt", own, {**dict(options), **expand})
            else:
                own, derivatives = self._condensed()
                self._solvers[key] = ca.nlpsol("solver", "ipopt", own, {**dict(options), **derivatives})
        return self._solvers[key]

    @cached_property
    def _solvers(self) -> dict[Any, Any]:
        return {}

    def _condensed(self) -> tuple[dict[str, Expression], dict[str, Any]]:
        """The program of single shooting, its exact derivatives by elimination of the states from the sparse ones.

        With defects D(v, x) = 0, x = x(v):  F = dx/dv = -D_x⁻¹ D_v,  λ = -D_x⁻ᵀ (σ f_x + A_xᵀ μ), and the Hessian is
        [1; F]ᵀ W [1; F], W that of σ f + λᵀD + μᵀA. D_x is triangular. A chain of products differentiated as it stands
        would cost N times as much.
        """
        ca, layout = self.ca, self.layout
        own = layout.sizes[0] + layout.sizes[1]
        v, p, X = self._rolled()
        w = ca.vertcat(v, ca.vec(X))
        f, slope, _, J, rows, A = self.first_order(w, p)
        J_v, J_x, A_v, A_x = J[:, :own], J[:, own:], A[:, :own], A[:, own:]
        F = ca.solve(J_x, -J_v)
        g_v, g_x = slope[:own], slope[own:]
        names = ["x", "p"]
        gradient = g_v + F.T @ g_x
        grad_f = ca.Function("nlp_grad_f", [v, p], [f, gradient], names, ["f", "grad_f_x"])
        jac_g = ca.Function("nlp_jac_g", [v, p], [rows, A_v + A_x @ F], names, ["g", "jac_g_x"])
        sigma, mu = ca.MX.sym("sigma"), ca.MX.sym("mu", rows.shape[0])
        lam = ca.solve(J_x.T, -(sigma * g_x + A_x.T @ mu))
        W = self.hessian(w, p, sigma, lam, mu)
        cross = W[:own, own:] @ F
        H = W[:own, :own] + cross + cross.T + F.T @ (W[own:, own:] @ F)
        hess = ca.Function(
            "nlp_hess_l", [v, p, sigma, mu], [ca.triu(H)], ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
        )
        return {"x": v, "p": p, "f": f, "g": rows}, {"grad_f": grad_f, "jac_g": jac_g, "hess_lag": hess}

    @cached_property
    def first_order(self) -> Any:
        """(w, parameters) → potential, its gradient, defects, their Jacobian, other rows, their Jacobian."""
        ca = self.ca
        w, p, f, defects, rows = self.multiple
        return ca.Function(
            "first_order", [w, p], [f, ca.gradient(f, w), defects, ca.jacobian(defects, w), rows, ca.jacobian(rows, w)]
        )

    @cached_property
    def hessian(self) -> Any:
        """(w, parameters, multipliers of potential, defects, other rows) → Hessian of the Lagrangian."""
        ca = self.ca
        w, p, f, defects, rows = self.multiple
        sigma, lam, mu = ca.MX.sym("sigma"), ca.MX.sym("lam", defects.shape[0]), ca.MX.sym("mu", rows.shape[0])
        lagrangian = sigma * f + ca.dot(lam, defects) + ca.dot(mu, rows)
        return ca.Function("hessian", [w, p, sigma, lam, mu], [ca.hessian(lagrangian, w)[0]])

    @cached_property
    def far_end_slope(self) -> Any:
        """(x_i, x_{i+1}, u, u, element, head) → derivative of an element's loads by x_{i+1}, for all elements."""
        ca = self.ca
        x, ua, ub, e = self._symbols()
        y, head = ca.SX.sym("y", self.layout.state), ca.SX.sym("head", _HEAD)
        *_, outer = self.energy(x, y, ua, ub, e, head)
        return ca.Function("slope", [x, y, ua, ub, e, head], [ca.gradient(outer, y)]).map(self.layout.elements)

    @cached_property
    def elastic(self) -> Any:
        """(w, parameters) → elastic energy."""
        ca, layout = self.ca, self.layout
        w, p, _, _, _ = self.multiple
        _, head, E = self._unpacked(p)
        _, U, X = self._unknowns(w)
        a, b = (list(map(int, c)) for c in layout.columns)
        heads = ca.repmat(head, 1, layout.elements)
        linear = self.energy.map(layout.elements)(X[:, :-1], X[:, 1:], U[:, a], U[:, b], E, heads)[0]
        return ca.Function("elastic", [w, p], [ca.sum2(linear) + self._elastic(U, head, E)])


def traced(name: str, function: Any) -> tuple[str, int]:
    """What a given constraint computes, as CasADi writes it, and the number of its values."""
    ca = casadi()
    s, p, R, xi = ca.SX.sym("s"), ca.SX.sym("p", 3), ca.SX.sym("R", 3, 3), ca.SX.sym("xi", 6)
    try:
        value = function(s, p, R, xi)
        if isinstance(value, list | tuple | np.ndarray):
            value = ca.vertcat(*np.ravel(np.asarray(value, dtype=object)))
        value = ca.vec(ca.SX(value))
        if not ca.symvar(value):
            raise ValueError("it returns numbers that depend on nothing")
        return ca.Function("constraint", [s, p, R, xi], [ca.densify(value)]).serialize(), int(value.shape[0])
    except Exception as error:
        raise BadInput(
            f"constraint {name!r}: its function cannot be traced ({type(error).__name__}: {error}); let it use "
            "+ - * / ** and casadi functions (casadi.sumsqr, casadi.sqrt, casadi.sin, ...) on (s, position (3,), "
            "rotation (3, 3), strain (6,)) and return a number or a list"
        ) from None


@lru_cache(maxsize=32)
def program(layout: NodeLayout) -> NonlinearProgram:
    """The program of a layout; those used last are kept, so that a sweep over a parameter builds its own once."""
    return NonlinearProgram(layout)
