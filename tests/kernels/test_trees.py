"""Residual and tangent of random robots: trees of rods and bodies with every joint, loops, and a floating base.

Two judges: the readable twin in body axes, and differences of the residual along the motion of each unknown.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

import elver as ev
from elver.dynamics.core import Core
from elver.dynamics.states import Arrays, arrays
from elver.errors import ElverWarning
from elver.kernels.build import entry
from elver.kernels.twin.tree import twin_residual, twin_tangent
from elver.lie import se3
from elver.mechanism import Joint

KINDS = (ev.Fixed, ev.Revolute, ev.Prismatic, ev.Cylindrical, ev.Universal, ev.Spherical, ev.Planar)
WEIGHTS = (0.7, 1.3, 0.4)


class Maker:
    """Random parts, all of one generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pose(self, size: float) -> np.ndarray:
        return se3.exp(self.rng.normal(size=6) * np.repeat([0.5, size], 3))

    def part(self, name: str) -> ev.Rod | ev.RigidBody:
        if self.rng.random() < 0.5:
            A = self.rng.normal(size=(3, 3))
            inertia = 1e-3 * (A @ A.T + np.trace(A @ A.T) * np.eye(3))
            return ev.RigidBody(self.rng.uniform(0.1, 1.0), inertia, 0.05 * self.rng.normal(size=3), name=name)
        basis = getattr(ev.Legendre, str(self.rng.choice(["planar", "kirchhoff", "reissner"])))(2)
        soft = ev.Material(young=1e6, poisson=0.4, density=1000.0, damping=1e-2, mass_damping=0.7)
        return ev.Rod(self.rng.uniform(0.3, 0.6), ev.Ellipse(6e-3, 9e-3), soft, basis, name=name, nodes=4)

    def frame(self, part: ev.Rod | ev.RigidBody | str) -> ev.Frame:
        if isinstance(part, ev.Rod):
            return ev.Frame(part, float(self.rng.choice([0.0, 0.4, 1.0])) * part.length, self.pose(0.05))
        return ev.Frame(part, pose=self.pose(0.05))

    def joint(self, kind: type[Joint], one: ev.Rod | ev.RigidBody | str, other: ev.Rod | ev.RigidBody, **more) -> Joint:
        a, b = self.frame(one), self.frame(other)
        if self.rng.random() < 0.5:
            a, b = b, a
        return kind(a, b, axis=self.rng.normal(size=3), **more)

    def mechanism(self, floating: bool, cut: type[Joint]) -> ev.Mechanism:
        rng, parts, joints = self.rng, [], []
        for k in range(4):
            part = self.part(f"part{k}")
            if k == 0 and floating:
                joints.append(ev.Floating("world", self.frame(part), start=0.3 * rng.normal(size=6)))
            else:
                old = parts[rng.integers(len(parts))] if parts and rng.random() < 0.8 else "world"
                if floating and old == "world":
                    old = parts[0]
                joints.append(self.joint(KINDS[rng.integers(len(KINDS))], old, part))
            parts.append(part)
        i, j = rng.choice(len(parts), 2, replace=False)
        joints.append(self.joint(cut, parts[i], parts[j], cut=True))
        if rng.random() < 0.5:
            joints.append(self.joint(ev.Spherical, "world", parts[-1], cut=True))
        rng.shuffle(joints)
        return ev.Mechanism(joints)

    def cables(self, mechanism: ev.Mechanism) -> list:
        """A cable over guides on all parts and the world, and a wound one between two parts and along a rod."""
        places = [ev.Frame("world", pose=self.rng.normal(size=3)), *map(self.frame, mechanism.parts)]
        found: list = [ev.Tendon(places, name="over guides")]
        if mechanism.rods:
            route = [places[1], mechanism.rods[0], places[-1]]
            found.append(ev.SpooledTendon(route, path=ev.parallel(y=3e-3, z=0.0), name="wound"))
        return found

    def system(self, floating: bool, cut: type[Joint]) -> ev.System:
        mechanism = self.mechanism(floating, cut)
        loads: list = [ev.Gravity((1.0, -4.0, -8.0))]
        actuators: list = []
        for k, part in enumerate(mechanism.parts):
            place = (part, "tip") if isinstance(part, ev.Rod) else part
            loads.append(ev.PointWrench(part, force=(1.0, -0.5, 0.7), moment=(0.1, 0.2, -0.1), name=f"load{k}"))
            loads.append(ev.SlidingFriction(place, viscous=0.2, dry=0.5, speed=0.3))
        for rod in mechanism.rods:
            actuators.append(ev.Tendon(rod, path=ev.parallel(y=5e-3, z=2e-3), name=f"{rod.name}-cable"))
        actuators += self.cables(mechanism)
        for branch in mechanism.tree.branches:
            if branch.joint.n:
                name = branch.joint.coordinate_names[0]
                actuators.append(ev.Motor(branch.joint, name))
                loads.append(ev.JointSpring(branch.joint, 0.8, rest=0.1, coordinate=name))
                loads.append(ev.JointFriction(branch.joint, viscous=0.3, dry=0.2, speed=0.5, coordinate=name))
                loads.append(ev.JointStop(branch.joint, upper=-0.4, stiffness=3.0, coordinate=name))
        return ev.System(mechanism, actuators, loads)


def robots(count: int) -> Iterator[tuple[str, Core, Arrays, np.ndarray]]:
    """Robots that can be assembled somewhere, with a random motion; loops stay open, which the tangent must bear."""
    for floating in (False, True):
        for cut in KINDS:
            found, seed = 0, 0
            while found < count:
                maker = Maker(1000 * KINDS.index(cut) + 500 * floating + seed)
                seed += 1
                system = maker.system(floating, cut)
                if system.n == 0:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ElverWarning)
                    try:
                        core = Core(system)
                    except ev.BadInput:  # a loop of too few joints to close: no robot
                        continue
                a, rng = arrays(system.rest()), maker.rng
                a.q[:] = 0.5 * np.array([[1.0], [2.0], [3.0]]) * rng.normal(size=a.q.shape)
                if system.free:
                    a.twist[:] = rng.normal(size=(2, 6))
                a.multipliers[:] = rng.normal(size=a.multipliers.size)
                u = 0.5 + rng.random(system.input_size)
                found += 1
                yield f"{cut.__name__} {'floating' if floating else 'fixed'} {seed}", core, a, u


def test_kernel_and_twin_agree() -> None:
    for name, core, a, u in robots(1):
        R = core.residual(a, u)
        expected = twin_residual(core.program, a.base, a.twist, a.q, a.multipliers, u)
        np.testing.assert_allclose(R, expected, atol=1e-12 * np.max(np.abs(expected)), err_msg=name)
        matrix = core.tangent(a, u, WEIGHTS)
        expected = twin_tangent(core.program, a.base, a.twist, a.q, a.multipliers, u, np.array(WEIGHTS))
        np.testing.assert_allclose(matrix, expected, atol=1e-12 * np.max(np.abs(expected)), err_msg=name)


def test_increments_along_the_tree_are_those_of_the_matrix() -> None:
    """With loops of every kind, cables over guides and a wound one: they follow the tree as a border."""
    compared = 0
    for name, core, a, u in robots(8):
        random = np.random.default_rng(0)
        for weights, jets in ((WEIGHTS, 3), ((1.0, 20.0, 400.0), 3), ((1.0, 0.0, 0.0), 1)):
            if jets == 1:
                a.q[1:], a.twist[:] = 0.0, 0.0
            A, scale = core.tangent(a, u, weights, jets), core.assembly.scale
            units = np.concatenate([scale, np.full(core.rows, core.assembly.energy)])
            b = random.normal(size=units.size) / units
            if np.linalg.cond(units[:, None] * A * units) > 1e9:
                continue
            columns, x, table = np.vstack([w * np.eye(6) for w in weights]), b.copy(), core.table
            core.residual(a, u, jets)
            entry.evaluate_frames(core.robot, a.base, a.multipliers, u, jets)
            pivot = entry.home(core.robot, table, a.q, a.multipliers, u, columns, np.array(weights), jets)
            entry.back(core.robot, table, jets, x)
            expected = np.linalg.solve(A, b)
            error = np.max(np.abs(x - expected) / units) / np.max(np.abs(expected) / units)
            if pivot > 1e-7:
                compared += 1
                assert error < 1e-10, (name, pivot)
    assert compared > 80  # the others are singular as a whole, or have a small pivot (number seen, then set)


def moved(a: Arrays, k: int, free: int, h: float) -> Arrays:
    """The motion with unknown k varied by h: value, rate and second rate at once, with WEIGHTS."""
    base, twist, q, multipliers = a.base.copy(), a.twist.copy(), a.q.copy(), a.multipliers.copy()
    if k < free:
        step = np.eye(6)[k] * h
        g = se3.pose(base[:3], base[3]) @ se3.exp(WEIGHTS[0] * step)
        base[:3], base[3] = g[:3, :3], g[:3, 3]
        twist[0] += WEIGHTS[1] * step
        twist[1] += WEIGHTS[2] * step
    elif k < free + q.shape[1]:
        q[:, k - free] += h * np.array(WEIGHTS)
    else:
        multipliers[k - free - q.shape[1]] += h
    return Arrays(base, twist, q, multipliers)


def test_tangent_is_the_derivative_of_the_residual() -> None:
    """Gotelli 2024, acceptance 4: relative error below 1e-8 for cut joints of every kind."""
    rule = ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))
    for name, core, a, u in robots(1):
        matrix = core.tangent(a, u, WEIGHTS)
        free, h = core.coordinates - core.n, 1e-3
        numbers = [
            sum(weight * core.residual(moved(a, k, free, j * h), u) for j, weight in rule) / (12.0 * h)
            for k in range(matrix.shape[0])
        ]
        error = np.max(np.abs(np.array(numbers).T - matrix)) / np.max(np.abs(matrix))
        assert error < 1e-8, name


def test_closure_columns_are_the_transposed_rows_of_the_coordinates() -> None:
    """Gotelli 2024, acceptance 4: Jᵀ beside R is the transposed of J below it, for the coordinates of the tree."""
    for name, core, a, u in robots(1):
        c, free = core.coordinates, core.coordinates - core.n
        matrix = core.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
        np.testing.assert_allclose(matrix[c:, free:c], matrix[free:c, c:].T, atol=1e-12, err_msg=name)


def test_mass_matrix_of_random_robots_is_symmetric_positive() -> None:
    """Gotelli 2024, acceptance 5."""
    for name, core, a, u in robots(1):
        c = core.coordinates
        M = core.tangent(a, u, (0.0, 0.0, 1.0))[:c, :c]
        np.testing.assert_allclose(M, M.T, atol=1e-10 * np.max(np.abs(M)), err_msg=name)
        assert np.linalg.eigvalsh(M)[0] > -1e-12 * np.max(np.abs(M)), name


def test_another_robot_compiles_nothing(stored) -> None:
    """Solvers included: a pendulum first, then robots of every joint, with loops and a floating base."""
    bob = ev.RigidBody.point(1.0, centre=(0.3, 0.0, 0.0), name="bob")
    first = ev.System(ev.Mechanism([ev.Revolute("world", bob, axis="y")]), loads=[ev.Gravity()])
    for method in (ev.Newmark(), ev.GaussLegendre4()):
        ev.simulate(first, first.rest(), 0.02, 0.01, method)
    ev.equilibrium(first, guess=first.rest().with_(q=[1.0]))
    next(iter(robots(1)))
    before = stored()
    for _, core, a, u in robots(1):
        core.residual(a, u)
        core.tangent(a, u, WEIGHTS)
    rods = [Maker(k).part("rod") for k in range(20)]
    rod = next(part for part in rods if isinstance(part, ev.Rod))
    pins = [ev.Spherical("world", (rod, "tip")), ev.Spherical(("world", (0.0, 0.0, 0.1)), (rod, 0.1))]
    held = ev.System(ev.Mechanism(pins))
    for method in (ev.GeneralizedAlpha(), ev.ImplicitMidpoint()):
        ev.simulate(held, ev.assemble(held), 0.01, 5e-3, method)
    assert stored() == before
