"""Water in the kernels: residual and tangent of random robots that swim, and their accelerations in O(n).

Judges: the readable twin, differences of the residual, and the dense solution of the equations of motion.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import Core
from elver.dynamics.states import Arrays, arrays
from elver.errors import ElverWarning
from elver.kernels.twin.tree import twin_residual, twin_tangent
from elver.lie import se3

from .test_trees import KINDS, WEIGHTS, Maker, moved

RULE = ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))
EPS = np.finfo(float).eps


class Swimmers(Maker):
    """Random trees and loops whose parts are all in water: bodies are cylinders, rods hang also by their middle."""

    def part(self, name: str) -> ev.Rod | ev.RigidBody:
        if self.rng.random() < 0.5:
            A = self.rng.normal(size=(3, 3))
            inertia = 1e-3 * (A @ A.T + np.trace(A @ A.T) * np.eye(3))
            axis = "xyz"[self.rng.integers(3)]
            shape = ev.EllipticCylinder(tuple(self.rng.uniform(0.02, 0.05, 2)), self.rng.uniform(0.1, 0.3), axis)
            return ev.RigidBody(
                self.rng.uniform(0.1, 1.0), inertia, 0.05 * self.rng.normal(size=3), name=name, shape=shape
            )
        basis = getattr(ev.Legendre, str(self.rng.choice(["planar", "kirchhoff", "reissner"])))(2)
        # so soft that its stiffness does not hide what the water does
        soft = ev.Material(young=1e2, poisson=0.4, density=1000.0, damping=1e-2, mass_damping=0.7)
        return ev.Rod(self.rng.uniform(0.3, 0.6), ev.Ellipse(2e-2, 3e-2), soft, basis, name=name, nodes=4)

    def loads(self, mechanism: ev.Mechanism, flow: bool) -> list:
        """Morison's water around some parts, Lighthill's around a rod that bends or a body, buoyancy, rotors."""
        stream = tuple(self.rng.normal(size=3)) if flow else (0.0, 0.0, 0.0)
        parts = list(mechanism.parts)
        slender = [p for p in parts if isinstance(p, ev.RigidBody) or set(p.component.tolist()) <= {1, 2}]
        tail = slender[-1:] if len(parts) > 1 else []
        drag, added = self.rng.uniform(0.2, 1.5, 4), self.rng.uniform(0.2, 1.5, 3)
        loads: list = [ev.Gravity((1.0, -4.0, -8.0)), ev.Buoyancy(parts[1:], 900.0)]
        loads.append(
            ev.Morison([p for p in parts if p not in tail], 800.0, drag, added, stream, stations=3, name="strips")
        )
        if tail:
            loads.append(ev.Lighthill(tail, 700.0, added, stream, name="wake"))
        for branch in mechanism.tree.branches:
            for name in branch.joint.coordinate_names if branch.joint.n else ():
                loads.append(ev.RotorInertia(branch.joint, self.rng.uniform(0.0, 0.01), coordinate=name))
        return loads

    def tree(self, base: str) -> ev.Mechanism:
        """A branching tree without loops, on a floating, fixed or driven base."""
        rng, parts, joints = self.rng, [], []
        for k in range(5):
            part = self.part(f"part{k}")
            if k == 0 and base == "floating":
                joints.append(ev.Floating("world", self.frame(part), start=0.3 * rng.normal(size=6)))
            elif k == 0:
                joints.append(self.joint(ev.Universal, "world", part))
            else:
                joints.append(self.joint(KINDS[rng.integers(len(KINDS))], parts[rng.integers(len(parts))], part))
            parts.append(part)
        driven = ev.Motion(lambda t: se3.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3]) * np.sin(1.0 + t)))
        return ev.Mechanism(joints, base=ev.Driven(driven)) if base == "driven" else ev.Mechanism(joints)

    def motion(self, system: ev.System) -> Arrays:
        a = arrays(system.rest())
        a.q[:] = 0.5 * np.array([[1.0], [2.0], [3.0]]) * self.rng.normal(size=a.q.shape)
        if system.free:
            a.twist[:] = self.rng.normal(size=(2, 6))
        a.multipliers[:] = self.rng.normal(size=a.multipliers.size)
        return a


def swimmers(both: bool = False) -> Iterator[tuple[str, Core, Arrays, np.ndarray]]:
    """Robots with a loop in water, cut at a joint of every kind, on fixed and floating bases in turn, or on both.

    Half of them are in a stream.
    """
    for k, cut in enumerate(KINDS):
        for floating in (False, True) if both else (k % 2 == 0,):
            flow, seed = (k // 2 + floating) % 2 == 0, 0
            while True:
                maker = Swimmers(7000 + 100 * k + 50 * floating + seed)
                seed += 1
                mechanism = maker.mechanism(floating, cut)
                system = ev.System(mechanism, loads=maker.loads(mechanism, flow))
                if system.n == 0:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ElverWarning)
                    try:
                        core = Core(system)
                    except ev.BadInput:  # a loop of too few joints to close: no robot
                        continue
                u = 0.5 + maker.rng.random(system.input_size)
                yield f"{cut.__name__} {floating=} {flow=} {seed}", core, maker.motion(system), u
                break


# Residual and tangent -----------------------------------------------------------------------------------------


def test_kernel_and_twin_agree() -> None:
    """1e-12 of the largest entry: rounding of two orders of summation."""
    for name, core, a, u in swimmers():
        assert core.program.strip.size
        R = core.residual(a, u)
        expected = twin_residual(core.program, a.base, a.twist, a.q, a.multipliers, u)
        np.testing.assert_allclose(R, expected, rtol=0.0, atol=1e-12 * np.max(np.abs(expected)), err_msg=name)
        matrix = core.tangent(a, u, WEIGHTS)
        expected = twin_tangent(core.program, a.base, a.twist, a.q, a.multipliers, u, np.array(WEIGHTS))
        np.testing.assert_allclose(matrix, expected, rtol=0.0, atol=1e-12 * np.max(np.abs(expected)), err_msg=name)


def test_tangent_is_the_derivative_of_the_residual() -> None:
    """1e-8: truncation of the five-point formula, h⁴/30 of the fifth derivative, and rounding ε/h.

    Drag has a kink in its slope where a strip stands still in the water: a motion at random is not there.
    """
    for name, core, a, u in swimmers(both=True):
        matrix = core.tangent(a, u, WEIGHTS)
        free, h = core.coordinates - core.n, 5e-4
        numbers = [
            sum(weight * core.residual(moved(a, k, free, j * h), u) for j, weight in RULE) / (12.0 * h)
            for k in range(matrix.shape[0])
        ]
        error = np.max(np.abs(np.array(numbers).T - matrix)) / np.max(np.abs(matrix))
        assert error < 1e-8, name


def test_statics_in_a_stream() -> None:
    """With one jet the robot stands in the water: the twin at rest, and differences in the pose alone."""
    streams = 0
    for name, core, a, u in swimmers():
        streams += bool(core.program.strip[:, 7:].any())
        matrix, c = core.tangent(a, u, (1.0, 0.0, 0.0), jets=1), core.coordinates
        a.q[1:] = 0.0
        a.twist[:] = 0.0
        weights = np.array([1.0, 0.0, 0.0])
        expected = twin_residual(core.program, a.base, a.twist, a.q, a.multipliers, u)
        R = core.residual(a, u, jets=1)
        np.testing.assert_allclose(R, expected, rtol=0.0, atol=1e-12 * np.max(np.abs(expected)), err_msg=name)
        twin = twin_tangent(core.program, a.base, a.twist, a.q, a.multipliers, u, weights)
        np.testing.assert_allclose(matrix, twin, rtol=0.0, atol=1e-12 * np.max(np.abs(twin)), err_msg=name)
        free, h = c - core.n, 1e-3
        for k in range(c):
            terms = []
            for j, weight in RULE:
                x = Arrays(a.base.copy(), a.twist, a.q.copy(), a.multipliers)
                if k < free:
                    g = se3.pose(x.base[:3], x.base[3]) @ se3.exp(j * h * np.eye(6)[k])
                    x.base[:3], x.base[3] = g[:3, :3], g[:3, 3]
                else:
                    x.q[0, k - free] += j * h
                terms.append(weight * core.residual(x, u, jets=1))
            column = sum(terms) / (12.0 * h)
            assert np.max(np.abs(column - matrix[:, k])) < 1e-8 * np.max(np.abs(matrix)), name
    assert streams >= 3


def test_at_rest_in_still_water_drag_has_no_slope() -> None:
    """d |r| r is flat at r = 0, and r_y² / |r_n| there is no number that may enter."""
    for name, core, a, u in swimmers():
        a.q[1] = 0.0
        a.twist[0] = 0.0
        strip = core.program.strip * ([1.0] * 7 + [0.0] * 3)
        core._take(core.program._replace(strip=strip))
        water = core.tangent(a, u, (0.0, 1.0, 0.0))
        core._take(core.program._replace(strip=0.0 * strip))
        np.testing.assert_array_equal(water, core.tangent(a, u, (0.0, 1.0, 0.0)), err_msg=name)
        assert np.all(np.isfinite(water)), name


def test_mass_matrix_with_added_mass_is_symmetric_positive() -> None:
    for name, core, a, u in swimmers(both=True):
        c = core.coordinates
        M = core.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c]
        np.testing.assert_allclose(M, M.T, atol=1e-12 * np.max(np.abs(M)), err_msg=name)
        assert np.linalg.eigvalsh(M)[0] > -1e-12 * np.max(np.abs(M)), name


# Accelerations ------------------------------------------------------------------------------------------------


def trees(base: str, count: int, imposed: bool) -> Iterator[tuple[Swimmers, ev.System, ev.State]]:
    found, seed = 0, 0
    while found < count:
        maker = Swimmers(9000 + 1000 * ("fixed", "driven", "floating").index(base) + seed)
        seed += 1
        mechanism = maker.tree(base)
        loads, actuators = maker.loads(mechanism, flow=True), []
        if imposed:
            for part in (*mechanism.rods, *(branch.joint for branch in mechanism.tree.branches)):
                actuators += [
                    ev.Imposed(part, name) for name in part.coordinate_names if maker.rng.random() < 0.3 and part.n
                ]
        system = ev.System(mechanism, actuators, loads)
        bare = [b.joint for b in mechanism.tree.branches if b.joint.n]
        if not system.n or not bare or (imposed and not actuators):
            continue
        rng, n = maker.rng, system.n
        state = system.rest().with_(q=0.5 * rng.normal(size=n), q_dot=rng.normal(size=n), q_ddot=rng.normal(size=n))
        if system.free:
            state = state.with_(eta=rng.normal(size=6), eta_dot=rng.normal(size=6))
        found += 1
        yield maker, system, state


def hangs_by_its_middle(system: ev.System) -> bool:
    return any(
        isinstance(b.child.part, ev.Rod) and 0.0 < b.child.s < b.child.part.length
        for b in system.mechanism.tree.branches
    )


@pytest.mark.parametrize("imposed", [False, True], ids=["free", "imposed"])
@pytest.mark.parametrize("base", ["fixed", "driven", "floating"])
def test_articulated_bodies_solve_the_dense_equations(base, imposed) -> None:
    """x = -M⁻¹ bias over the coordinates that are not imposed, to 1e-9: rounding, with n ε cond(M) up to 4e-9."""
    middle = 0
    for maker, system, state in trees(base, 12, imposed):
        signals = {}
        for drive in system.imposed:
            value = maker.rng.normal(size=3)
            signals[drive] = lambda t, value=value: value
        found = ev.forward_dynamics(system, state, signals)
        free = 6 * system.free
        moves = np.ones(free + system.n, dtype=bool)
        q, q_dot, q_ddot = state.q.copy(), state.q_dot.copy(), np.zeros(system.n)
        for drive in system.imposed:
            k = system.coordinates(drive.target).start + drive.index
            q[k], q_dot[k], q_ddot[k] = signals[drive](0.0)
            moves[free + k] = False
        at = state.with_(q=q, q_dot=q_dot, q_ddot=q_ddot)
        if free:
            at = at.with_(eta_dot=np.zeros(6))
        M, bias = ev.mass_matrix(system, at), ev.inverse_dynamics(system, at, signals)
        M, bias = M[np.ix_(moves, moves)], bias[moves]
        unit = 1.0 / np.sqrt(np.diag(M))
        scaled = unit[:, None] * M * unit
        expected = -unit * np.linalg.solve(scaled, unit * bias)
        ours = np.concatenate([found.eta_dot[:free], found.q_ddot])
        # in units of equal inertia, so that a stiff strain does not hide a slow joint
        size = np.max(np.abs(expected / unit))
        assert np.max(np.abs((ours[moves] - expected) / unit)) < 1e-9 * size
        np.testing.assert_array_equal(ours[~moves], np.concatenate([np.zeros(free), q_ddot])[~moves])
        middle += hangs_by_its_middle(system)
    assert middle >= 2


def test_inverse_dynamics_with_a_free_base() -> None:
    """At the acceleration it finds the base needs no wrench, and the efforts are those of the inverse dynamics."""
    for _, system, state in trees("floating", 10, imposed=False):
        found = ev.floating_inverse_dynamics(system, state)
        needed = ev.inverse_dynamics(system, state.with_(eta_dot=found.eta_dot))
        M = ev.mass_matrix(system, state)[:6, :6]
        unit = 1.0 / np.sqrt(np.diag(M))
        rounding = (6 + system.n) * EPS * np.linalg.cond(unit[:, None] * M * unit)
        bias = ev.inverse_dynamics(system, state.with_(eta_dot=np.zeros(6)))
        assert np.max(np.abs(unit * needed[:6])) < rounding * np.max(np.abs(unit * bias[:6]))
        np.testing.assert_array_equal(found.efforts, needed[6:])
        # whatever acceleration the state has
        other = ev.floating_inverse_dynamics(system, state.with_(eta_dot=np.ones(6)))
        np.testing.assert_array_equal(other.eta_dot, found.eta_dot)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_tangent_of_the_accelerations(base) -> None:
    """Against five-point differences, in units of equal inertia: truncation 1e-8, and rounding 1.5 δ/h.

    δ = n ε cond(M) of the accelerations is what each of them is right to.
    """
    for _, system, state in trees(base, 3, imposed=False):
        tangent, free = ev.tangent_forward_dynamics(system, state), 6 * system.free
        M = ev.mass_matrix(system, state)
        unit, h = 1.0 / np.sqrt(np.diag(M)), 2e-4

        def accelerations(k: int, step: float, rate: bool, state=state, system=system, free=free) -> np.ndarray:
            base, q = np.split(step * np.eye(free + system.n)[k], [free])
            if rate:
                changes = {"q_dot": state.q_dot + q, **({"eta": state.eta + base} if free else {})}
            else:
                changes = {"q": state.q + q, **({"g": state.g @ se3.exp(base)} if free else {})}
            moving = ev.forward_dynamics(system, state.with_(**changes))
            return np.concatenate([moving.eta_dot[:free], moving.q_ddot])

        delta = len(M) * EPS * np.linalg.cond(unit[:, None] * M * unit) * np.max(np.abs(tangent.q_ddot / unit))
        for rate, matrix in ((False, tangent.dq_ddot_dq), (True, tangent.dq_ddot_dq_dot)):
            numbers = [sum(w * accelerations(k, j * h, rate) for j, w in RULE) / (12.0 * h) for k in range(len(M))]
            scaled = matrix / unit[:, None] * unit
            error = np.array(numbers).T / unit[:, None] * unit - scaled
            assert np.all(np.abs(error) < 1e-8 * np.max(np.abs(scaled)) + 1.5 * delta / h * unit)
        identity = tangent.dq_ddot_dQ @ M
        np.testing.assert_allclose(identity * unit / unit[:, None], np.eye(len(M)), atol=1e-9)


def test_tangent_of_the_accelerations_says_what_it_is_for() -> None:
    _, system, state = next(trees("fixed", 1, imposed=True))
    with pytest.raises(ev.BadInput, match=r"for trees without closures and imposed motions; use linearize"):
        ev.tangent_forward_dynamics(system, state)
