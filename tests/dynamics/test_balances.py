"""Balances of energy and momentum of robots: with loads, motors, friction, springs, stops, imposed motion and loops.

At one instant they hold to the rounding of differences, whatever the robot: R·q' = dE/dt - power. Along a run they
close with the order of the method.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import simpson, solve_ivp

import elver as ev
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.errors import ElverWarning
from elver.lie import se3, so3

Array = NDArray[np.float64]

KINDS = (ev.Fixed, ev.Revolute, ev.Prismatic, ev.Cylindrical, ev.Universal, ev.Spherical, ev.Planar)


# Random robots ---------------------------------------------------------------------------------------------------


class Robot:
    """A random robot under everything that acts, in a random motion."""

    def __init__(self, seed: int, floating: bool) -> None:
        self.rng = rng = np.random.default_rng(seed)
        parts: list = []
        joints: list = []
        for k in range(4):
            part = self.part(k)
            if k == 0 and floating:
                joints.append(ev.Floating("world", self.frame(part), start=0.3 * rng.normal(size=6)))
            else:
                other = parts[rng.integers(len(parts))] if parts else "world"
                joints.append(self.joint(KINDS[rng.integers(len(KINDS))], other, part))
            parts.append(part)
        joints.append(self.joint(KINDS[1 + rng.integers(len(KINDS) - 1)], parts[0], parts[-1], cut=True))
        if not floating:
            joints.append(self.joint(ev.Spherical, "world", parts[-1], cut=True))
        rng.shuffle(joints)
        mechanism = ev.Mechanism(joints)
        self.system = ev.System(mechanism, *self.drives(mechanism))
        system = self.system
        n = system.n
        q = 0.5 * rng.normal(size=(3, n))
        self.state = system.rest().with_(q=q[0], q_dot=q[1], q_ddot=q[2])
        if system.free:
            self.state = self.state.with_(eta=rng.normal(size=6), eta_dot=rng.normal(size=6))
        self.inputs = {name: 0.5 + rng.random() for name in system.channel_names}

    def part(self, k: int) -> ev.Rod | ev.RigidBody:
        if k % 2:
            A = self.rng.normal(size=(3, 3))
            inertia = 1e-2 * (A @ A.T + np.trace(A @ A.T) * np.eye(3))
            return ev.RigidBody(self.rng.uniform(0.1, 1.0), inertia, 0.05 * self.rng.normal(size=3), name=f"part{k}")
        basis = getattr(ev.Legendre, str(self.rng.choice(["planar", "kirchhoff", "reissner"])))(2)
        soft = ev.Material(young=1e5, poisson=0.4, density=1000.0, damping=1e-2)
        return ev.Rod(self.rng.uniform(0.3, 0.6), ev.Ellipse(6e-3, 9e-3), soft, basis, name=f"part{k}", nodes=5)

    def frame(self, part: object) -> ev.Frame:
        pose = se3.exp(self.rng.normal(size=6) * np.repeat([0.5, 0.05], 3))
        if isinstance(part, ev.Rod):
            return ev.Frame(part, float(self.rng.choice([0.0, 0.4, 1.0])) * part.length, pose)
        return ev.Frame(part, pose=pose)

    def joint(self, kind: type, one: object, other: object, **more: object) -> object:
        a, b = self.frame(one), self.frame(other)
        if self.rng.random() < 0.5:
            a, b = b, a
        return kind(a, b, axis=self.rng.normal(size=3), **more)

    def drives(self, mechanism: ev.Mechanism) -> tuple[list, list]:
        rng = self.rng
        loads: list = [ev.Gravity((1.0, -4.0, -8.0))]
        actuators: list = [ev.Tendon(mechanism.rods, path=ev.parallel(y=5e-3, z=2e-3), name="cable")]
        for k, part in enumerate(mechanism.parts):
            rod = isinstance(part, ev.Rod)
            for follows in (False, True):
                loads.append(
                    ev.PointWrench(
                        part, 0.3 * part.length if rod else 0.1 * rng.normal(size=3), rng.normal(size=3),
                        0.1 * rng.normal(size=3), ("section" if rod else "body") if follows else "world",
                        name=f"load{k}{follows}",
                    )
                )  # fmt: skip
            place = (part, 0.7 * part.length) if rod else part
            loads.append(ev.SlidingFriction(place, viscous=0.2, dry=0.5, speed=0.3))
            loads.append(ev.Feedback(place, lambda t, g, eta: 0.1 * np.sin(eta) + 0.2 * g[:2, 1:].ravel()))
        for rod in mechanism.rods:
            loads.append(
                ev.DistributedWrench(rod, force=(0.5, 1.0, -1.0), moment=(0.1, 0.0, 0.2), name=f"wind{rod.name}")
            )
        for branch in mechanism.tree.branches:
            for name in branch.joint.coordinate_names:
                actuators.append(ev.Motor(branch.joint, name))
                loads.append(ev.JointSpring(branch.joint, 0.8, rest=0.1, coordinate=name))
                loads.append(ev.JointFriction(branch.joint, viscous=0.3, dry=0.2, speed=0.5, coordinate=name))
                loads.append(ev.JointStop(branch.joint, upper=-0.4, stiffness=3.0, coordinate=name))
        return actuators, loads

    # Motion -----------------------------------------------------------------------------------------------------

    def at(self, t: float, state: ev.State | None = None) -> ev.State:
        """The motion of constant second rates at time t."""
        s = state or self.state
        x, x_dot = s.eta * t + 0.5 * s.eta_dot * t**2, s.eta + s.eta_dot * t
        return s.with_(
            q=s.q + s.q_dot * t + 0.5 * s.q_ddot * t**2,
            q_dot=s.q_dot + s.q_ddot * t,
            g=s.g @ se3.exp(x),
            eta=se3.dexp(x) @ x_dot,
        )

    def pose(self, frame: ev.Frame, state: ev.State) -> Array:
        """World pose of a frame."""
        poses = ev.poses(self.system, state, frame.part)
        if isinstance(frame.part, ev.Rod):
            s = ev.nodes(self.system, frame.part)
            poses = poses[np.argmin(np.abs(s - frame.s))]
        return poses @ frame.g

    def twist(self, frame: ev.Frame) -> Array:
        """Body twist of a frame, from its poses."""
        back = se3.inverse(self.pose(frame, self.state))
        return slope(lambda t: se3.log(back @ self.pose(frame, self.at(t))))

    def wrenches(self) -> Iterator[tuple[ev.Frame, Array]]:
        """Every external wrench on the robot but gravity: where, and (moment; force) in axes of the frame."""
        system = self.system
        for load in system.loads:
            if isinstance(load, ev.PointWrench):
                factor = self.inputs[load.name]
                R = self.pose(load.site, self.state)[:3, :3]
                W = load.wrench if load.follows else np.concatenate([R.T @ load.wrench[:3], R.T @ load.wrench[3:]])
                yield load.site, factor * W
            elif isinstance(load, ev.DistributedWrench):
                grid = system.__dict__["_assembly"].rods[load.rod]
                for s, w in zip(grid.s, grid.weights):
                    frame = ev.Frame(load.rod, float(s))
                    R = self.pose(frame, self.state)[:3, :3]
                    d = w * self.inputs[load.name] * load.density(s)[0]
                    yield frame, np.concatenate([R.T @ d[:3], R.T @ d[3:]])
            elif isinstance(load, ev.SlidingFriction):
                yield load.frame, np.concatenate([np.zeros(3), load.force(self.twist(load.frame)[3:])])
            elif isinstance(load, ev.Feedback):
                yield load.frame, load.evaluate(0.0, self.pose(load.frame, self.state), self.twist(load.frame))[0]

    def inner_power(self) -> float:
        """Power of motors, joint friction, the cable and the damping of the rods; springs and stops are in E."""
        system, state = self.system, self.state
        power = 0.0
        for part in (*system.actuators, *system.loads):
            if isinstance(part, ev.Motor | ev.JointFriction):
                k = system.coordinates(part.joint).start + part.index
                effort = (
                    self.inputs[part.name] if isinstance(part, ev.Motor) else part.effort(state.q[k], state.q_dot[k])
                )
                power += effort * state.q_dot[k]
        power -= self.inputs["cable"] * slope(lambda t: self.cable_length(self.at(t)))
        for rod, s, w, strain_rate in self.strains(state.q_dot):
            H = rod.stiffness(s)
            power -= rod.material.damping * float(np.sum(w[:, None] * H * strain_rate**2))
        return power

    def strains(self, q: Array) -> Iterator[tuple[ev.Rod, Array, Array, Array]]:
        """B Φ q of every rod at its quadrature points."""
        for rod in self.system.mechanism.rods:
            grid = self.system.__dict__["_assembly"].rods[rod]
            s, w = grid.s[grid.weights > 0], grid.weights[grid.weights > 0]
            strain = np.zeros((s.size, 6))
            values = rod.functions(s) * q[self.system.coordinates(rod)]
            np.add.at(strain.T, rod.component, values.T)
            yield rod, s, w, strain

    def cable_length(self, state: ev.State) -> float:
        """∫ |Γ + K × D| ds over all rods."""
        D = np.array([0.0, 5e-3, 2e-3])
        return sum(
            float(w @ np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], D), axis=1))
            for rod, s, w, strain in self.strains(state.q)
            for xi in [rod.rest_strain(s) + strain]
        )


def slope(function: Callable[[float], Array], h: float = 5e-4) -> Array:
    """Derivative at 0 by seven points, close together since a stop may be near."""
    rule = ((1, 45.0), (2, -9.0), (3, 1.0))
    return sum(w * (np.asarray(function(k * h)) - np.asarray(function(-k * h))) for k, w in rule) / (60.0 * h)


@pytest.fixture(scope="module")
def robots() -> list[Robot]:
    """Robots that can be assembled; their loops are open, which no balance may mind."""
    found: list[Robot] = []
    for floating in (False, True):
        seed = 0
        while sum(robot.system.free == floating for robot in found) < 5:
            robot = Robot(100 * floating + seed, floating)
            seed += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ElverWarning)
                try:
                    core(robot.system)
                except ev.BadInput:  # a loop of too few joints
                    continue
            found.append(robot)
    return found


def rates(robot: Robot) -> Array:
    state = robot.state
    return np.concatenate([state.eta, state.q_dot]) if robot.system.free else state.q_dot


def test_power_balance_of_random_robots(robots):
    """R·q' = d(T + U)/dt - power of wrenches, motors, friction, cable and damping."""
    for robot in robots:
        state = robot.state
        R = ev.inverse_dynamics(robot.system, state, robot.inputs)
        E_dot = slope(lambda t, r=robot: ev.energy(r.system, r.at(t), r.inputs).total)
        outer = sum(W @ robot.twist(frame) for frame, W in robot.wrenches())
        expected = E_dot - outer - robot.inner_power()
        assert R @ rates(robot) == pytest.approx(expected, abs=1e-8 * (1.0 + abs(E_dot) + abs(outer)))


def test_energy_of_springs_and_stops_is_what_they_say(robots):
    for robot in robots:
        system, q = robot.system, robot.state.q
        total = 0.0
        for load in system.loads:
            if isinstance(load, ev.JointSpring | ev.JointStop):
                x = q[system.coordinates(load.joint).start + load.index]
                total += 0.5 * load.effort(x) ** 2 / load.stiffness
        for rod, s, w, strain in robot.strains(q):
            total += 0.5 * float(np.sum(w[:, None] * rod.stiffness(s) * strain**2))
        assert ev.energy(system, robot.state).elastic == pytest.approx(total, rel=1e-10)


def test_closure_forces_have_the_power_of_what_they_hold(robots):
    """q'ᵀJᵀλ = λ·dΨ/dt: none where loops stay closed."""
    for robot in robots:
        system, state = robot.system, robot.state
        kernels = core(system)
        lam = robot.rng.normal(size=state.multipliers.size)
        lam = np.where([np.any(axes) for axes in kernels.program.row_axes], lam, 0.0)
        held = ev.inverse_dynamics(system, state.with_(multipliers=lam), robot.inputs)
        power = (held - ev.inverse_dynamics(system, state, robot.inputs)) @ rates(robot)
        u = system.input_vector(system.signals(robot.inputs), 0.0)

        def gaps(t: float, robot=robot, kernels=kernels, u=u) -> Array:
            return kernels.residual(arrays(robot.at(t)), u, jets=1)[kernels.coordinates :]

        assert power == pytest.approx(lam @ slope(gaps), abs=1e-8)


def test_momentum_of_floating_robots_changes_by_outer_wrenches_only(robots):
    """dH/dt is what acts from outside and at the base; motors, springs, friction, cables and closures are inner."""
    for robot in robots:
        system, state = robot.system, robot.state
        if not system.free:
            continue
        state = state.with_(multipliers=robot.rng.normal(size=state.multipliers.size))
        rate = slope(lambda t, r=robot: ev.momentum(r.system, r.at(t)))
        outer = about_origin(state.g, ev.inverse_dynamics(system, state, robot.inputs)[:6])
        for frame, W in robot.wrenches():
            outer += about_origin(robot.pose(frame, state), W)
        gravity = robot.inputs["gravity"] * np.array([1.0, -4.0, -8.0])
        mass, centre = mass_centre(robot)
        outer += np.concatenate([np.cross(centre, mass * gravity), mass * gravity])
        np.testing.assert_allclose(rate, outer, atol=1e-8 * (1.0 + np.abs(outer).max()))


def about_origin(g: Array, wrench: Array) -> Array:
    """Wrench in axes of the pose g, as (moment about the world origin; force) in world axes."""
    moment, force = g[:3, :3] @ wrench[:3], g[:3, :3] @ wrench[3:]
    return np.concatenate([moment + np.cross(g[:3, 3], force), force])


def mass_centre(robot: Robot) -> tuple[float, Array]:
    """Total mass and its centre."""
    mass, moment = 0.0, np.zeros(3)
    for part in robot.system.mechanism.parts:
        if isinstance(part, ev.Rod):
            grid = robot.system.__dict__["_assembly"].rods[part]
            m = grid.weights * part.inertia(grid.s)[:, 3]
            p = ev.poses(robot.system, robot.state, part)[:, :3, 3]
        else:
            m = np.array([part.mass])
            p = (ev.poses(robot.system, robot.state, part) @ [*part.centre, 1.0])[None, :3]
        mass, moment = mass + m.sum(), moment + m @ p
    return mass, moment / mass


# Multipliers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reverse", [False, True])
def test_multipliers_are_what_the_part_exerts_on_the_world(kind, reverse):
    """With the sign and about the axes of their names, in joint axes of the world's frame (CONVENTIONS, "Loops")."""
    body = ev.RigidBody(1.3, (0.10, 0.12, 0.15), (0.05, 0.10, -0.07), name="body")
    ends = (body, "world") if reverse else ("world", body)
    joint = kind(*ends, name="J", axis=(1.0, 2.0, 0.5))
    W = np.array([0.3, -0.5, 0.7, 2.0, -3.0, 4.0])
    load = ev.PointWrench(body, force=W[3:], moment=W[:3])
    system = ev.System(ev.Mechanism([joint], root=body), loads=[load])
    state = ev.forward_dynamics(system, system.rest())
    passed_on = W - body.M @ state.eta_dot
    in_axes = np.concatenate([joint.axes.T @ passed_on[:3], joint.axes.T @ passed_on[3:]])
    names = [f"J/{what}_{axis}" for what in ("moment", "force") for axis in "xyz"]
    held = dict(zip([name for name, _ in system.multipliers], state.multipliers))
    np.testing.assert_allclose(in_axes, [held.get(name, 0.0) for name in names], atol=1e-10)


# Runs ------------------------------------------------------------------------------------------------------------


def driven_loop() -> tuple[ev.System, dict, tuple]:
    """A planar five-bar of two rods and a bar: one crank imposed, one with motor, spring and friction; a stop."""
    soft = ev.Material(young=1e7, poisson=0.4, density=1000.0, damping=2e-3)
    left, right = (ev.Rod(0.5, ev.Circle(0.01), soft, ev.Legendre.planar(2), name=name) for name in ("left", "right"))
    bar = ev.RigidBody(0.2, (1e-4, 1e-3, 1e-3), name="bar")
    lean = np.pi / 2 - np.arcsin(0.1 / 0.5)
    A = ev.Revolute(("world", (-0.2, 0, 0)), (left, "base"), name="A", start=lean)
    B = ev.Revolute(("world", (0.2, 0, 0)), (right, "base"), name="B", start=np.pi - lean)
    C = ev.Revolute((left, "tip"), (bar, (-0.1, 0, 0)), name="C", start=-lean)
    D = ev.Spherical((right, "tip"), (bar, (0.1, 0, 0)), name="D", cut=True)
    drive, motor = ev.Imposed(A), ev.Motor(B)
    loads = [
        ev.Gravity((0.0, -9.81, 0.0)),
        ev.JointSpring(B, 0.6, rest=1.5),
        ev.JointFriction(B, viscous=0.02, dry=0.05, speed=0.2),
        ev.JointFriction(C, viscous=0.01),
        ev.JointStop(C, lower=-1.375, stiffness=2.0),
        ev.SlidingFriction(bar, viscous=0.1, dry=0.1, speed=0.05),
        ev.PointWrench(bar, (0.05, 0, 0), force=(0.0, 0.3, 0.0), frame="body", name="jet"),
    ]
    system = ev.System(ev.Mechanism([A, B, C, D]), [drive, motor], loads)
    with pytest.warns(ElverWarning, match="redundant: D/force_z"):
        core(system)
    inputs = {
        drive: lambda t: (
            lean + 0.1 * (1 - np.cos(4 * t)), 0.4 * np.sin(4 * t), 1.6 * np.cos(4 * t)
        ),
        motor: lambda t: 0.3 * np.sin(9 * t),
    }  # fmt: skip
    return system, inputs, (left, right, bar)


@pytest.mark.parametrize("method", [ev.HHT(), ev.GeneralizedAlpha(0.6)])
def test_energy_balance_of_a_driven_loop(method):
    """E(t) - E(0) is the work of motor, imposed motion, jet, friction and damping; a stop is met on the way."""
    system, inputs, (left, right, bar) = driven_loop()
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        run = ev.simulate(system, system.rest(), 0.8, step, method, inputs)
        q, q_dot = run["q"].values, run["q_dot"].values
        at = {name: k for k, name in enumerate(system.coordinate_names)}
        power = run["efforts"].values[:, 0] * q_dot[:, at["A/angle"]]
        power += run["inputs"].sel(input="B-motor").values * q_dot[:, at["B/angle"]]
        for load in system.loads:
            if isinstance(load, ev.JointFriction):
                rate = q_dot[:, at[f"{load.joint.name}/angle"]]
                power += [load.effort(0.0, x) * x for x in rate]
        for rod in (left, right):
            own = system.coordinates(rod)
            power -= 2.0 * rod.material.damping * np.array([bending(rod, x) for x in q_dot[:, own]])
        # velocity of the bar from its tree: A, the left rod and C carry it
        slide, jet = system.loads[5], system.loads[6]
        for k, (R, v, spin) in enumerate(bar_motion(system, run, bar)):
            power[k] += slide.force(v) @ v
            power[k] += (R @ jet.force) @ (v + np.cross([0, 0, spin], R @ [0.05, 0, 0]))
        E = run["energy/total"].values
        errors.append(abs(E[-1] - E[0] - simpson(power, x=run["time"].values)))
    assert np.any(q[:, at["C/angle"]] < -1.375)
    assert np.any(q[:, at["C/angle"]] > -1.375)
    assert np.log2(errors[0] / errors[2]) == pytest.approx(4.0, abs=0.2)
    assert errors[-1] < 5e-5


def bending(rod: ev.Rod, x: Array) -> float:
    """½ ∫ EI K² ds of a planar rod with curvature coordinates x."""
    s = rod.grid.s[rod.grid.quadrature]
    K = rod.functions(s) @ x
    return 0.5 * float(np.sum(rod.grid.weights[rod.grid.quadrature] * rod.stiffness(s)[:, 2] * K**2))


def bar_motion(system: ev.System, run, bar: ev.RigidBody) -> Iterator[tuple[Array, Array, float]]:
    """Rotation, velocity and rate of turn of the bar at every instant, from differences of its poses along q'."""
    h = 1e-4
    for k in range(run.sizes["time"]):
        q, q_dot = run["q"].values[k], run["q_dot"].values[k]
        g = [ev.poses(system, system.rest().with_(q=q + x * h * q_dot), bar) for x in (-1, 1)]
        R = so3.from_quaternion(run["bar/orientation"].values[k])
        turn = so3.log(g[0][:3, :3].T @ g[1][:3, :3])[2] / (2 * h)
        yield R, (g[1][:3, 3] - g[0][:3, 3]) / (2 * h), float(turn)


@pytest.mark.parametrize("method", [ev.Newmark(), ev.HHT(), ev.GeneralizedAlpha(), ev.ImplicitMidpoint()])
def test_friction_only_takes_energy(method):
    """A spatial arm thrown and left to its friction: the energy falls from step to step, and the arm comes to rest."""
    upper = ev.RigidBody(1.0, (0.01, 0.02, 0.02), (0.15, 0, 0), name="upper")
    lower = ev.RigidBody(0.6, (0.005, 0.01, 0.01), (0.1, 0.02, 0), name="lower")
    shoulder = ev.Universal("world", upper, name="shoulder")
    elbow = ev.Revolute((upper, (0.3, 0, 0)), lower, name="elbow", axis=(0.2, 1.0, 0.3))
    loads = [
        ev.JointFriction(shoulder, viscous=0.05, dry=0.1, speed=0.1, coordinate="angle_x"),
        ev.JointFriction(shoulder, dry=0.2, speed=0.1, coordinate="angle_y"),
        ev.JointFriction(elbow, viscous=0.1),
        ev.SlidingFriction(lower, viscous=0.1, dry=0.2, speed=0.1),
        ev.JointSpring(elbow, 0.3),
    ]
    system = ev.System(ev.Mechanism([shoulder, elbow]), loads=loads)
    state = system.rest().with_(q_dot=np.array([6.0, -5.0, 8.0]))
    E = ev.simulate(system, state, 3.0, 1e-3, method)["energy/total"].values
    assert np.all(np.diff(E) < 1e-12)
    assert E[-1] < 1e-2 * E[0]


def test_a_sliding_platform_loses_what_friction_takes_and_keeps_its_course():
    """F = -(d + f/√(V² + v²)) V along a straight line: compared with its own equation."""
    disc = ev.RigidBody(2.0, (0.1, 0.1, 0.2), name="disc")
    plane = ev.Planar("world", disc)
    friction = ev.SlidingFriction(disc, viscous=0.3, dry=4.0, speed=0.05)
    system = ev.System(ev.Mechanism([plane]), loads=[friction])
    run = ev.simulate(system, system.rest().with_(q_dot=np.array([0.6, 0.8, 2.0])), 0.4, 1e-3)
    speed = lambda t, y: [y[1], float(friction.force([y[1], 0, 0])[0]) / 2.0]  # noqa: E731
    path = solve_ivp(speed, (0.0, 0.4), [0.0, 1.0], rtol=1e-10, atol=1e-12).y[0, -1]
    np.testing.assert_allclose(run["q"][-1], [0.6 * path, 0.8 * path, 0.8], atol=1e-6)


def test_momentum_of_a_floating_robot_follows_its_loads():
    """Arm with motors on a free base under a pulse: momentum is the impulse, whatever the motors do."""
    hull = ev.RigidBody(3.0, (0.1, 0.2, 0.25), (0.02, 0, 0), name="hull")
    soft = ev.Material(young=5e6, poisson=0.4, density=1000.0, damping=2e-3)
    arm = ev.Rod(0.5, ev.Circle(0.01), soft, ev.Legendre.kirchhoff(2), name="arm")
    hand = ev.RigidBody(0.3, (1e-3, 1e-3, 1e-3), name="hand")
    hip = ev.Universal((hull, (0.2, 0, 0)), (arm, "base"), name="hip")
    wrist = ev.Spherical((arm, "tip"), hand, name="wrist")
    motor = ev.Motor(hip, "angle_y")
    jet = ev.PointWrench(hull, (0.0, 0.1, 0.0), force=(0.0, 0.0, 3.0), name="jet")
    loads = [jet, ev.JointFriction(wrist, viscous=0.01, coordinate="theta_x")]
    system = ev.System(ev.Mechanism([ev.Floating("world", hull), hip, wrist]), [motor], loads)
    inputs = {motor: lambda t: 0.1 * np.sin(6 * t), jet: lambda t: np.sin(2 * t)}
    errors = []
    for step in (8e-3, 4e-3, 2e-3):
        run = ev.simulate(system, system.rest(), 0.8, step, ev.ImplicitMidpoint(), inputs)
        t = run["time"].values
        force = 3.0 * np.sin(2 * t)[:, None] * [0, 0, 1]
        arm_of_force = run["hull/position"].values + so3.from_quaternion(run["hull/orientation"].values) @ [0, 0.1, 0]
        impulse = simpson(np.hstack([np.cross(arm_of_force, force), force]), x=t, axis=0)
        errors.append(np.abs(run["momentum"].values[-1] - impulse).max())
    assert np.log2(errors[0] / errors[2]) > 3.5
    assert errors[-1] < 1e-4
