"""The eel of Khalil 2007 beside Pinocchio: a free head and twelve spherical joints; and swimmers in water.

Inverse and direct dynamics are single calls in a compiled loop, without gravity and water, at a random state; what
they give is compared with the readable twin and with the dense equations (and in the tests with Pinocchio). One second
at 1 kHz: a thousand steps of semi-implicit Euler, ours in water (52 strips with drag and added mass), Pinocchio's
without (its articulated bodies, its own integration of the configuration, a Python loop). The swimmer is the rod of the
gallery page ``boyer-2023-swimmer``, driven by its muscles, in steps of 10 ms.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

import elver as ev
from elver.cli.bench import Row, cpu_time, row
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.integrators.march import March
from elver.kernels.build import entry
from elver.kernels.tree.repeat import repeat_accelerations, repeat_residual
from elver.kernels.twin.tree import twin_residual

HALF_AXES, HEAD, LINK, JOINTS, DENSITY = (0.065, 0.09), 0.4, 0.14, 12, 1000.0
ACCURACY = 1e-9
CALLS = 200  # in one compiled loop
CHAINS = (12, 24, 48, 96, 192, 384)


def eel(joints: int = JOINTS, loads: tuple[Any, ...] = ()) -> ev.System:
    """A free head and ``joints`` links on spherical joints, elliptic cylinders along x."""

    def link(length: float, name: str) -> ev.RigidBody:
        centre = (0.5 * length, 0.0, 0.0)
        return ev.RigidBody.elliptic_cylinder(HALF_AXES, length, density=DENSITY, name=name, centre=centre)

    bodies = [link(HEAD if k == 0 else LINK, f"link-{k}") for k in range(joints + 1)]
    ends = [HEAD, *[LINK] * (joints - 1)]
    balls = [
        ev.Spherical((a, (end, 0.0, 0.0)), b, name=f"joint-{k + 1}")
        for k, (a, b, end) in enumerate(zip(bodies, bodies[1:], ends))
    ]
    return ev.System(ev.Mechanism([ev.Floating("world", bodies[0]), *balls]), loads=loads)


def moving(system: ev.System) -> ev.State:
    """A state with everything in motion."""
    random = np.random.default_rng(7)
    q, q_dot, q_ddot = random.normal(size=(3, system.n)) * [[0.3], [1.0], [3.0]]
    eta, eta_dot = random.normal(size=(2, 6))
    return system.rest().with_(q=q, q_dot=q_dot, q_ddot=q_ddot, eta=eta, eta_dot=eta_dot)


class Chain:
    """An eel at a moving state, ready for compiled loops."""

    def __init__(self, joints: int = JOINTS) -> None:
        self.system = eel(joints)
        self.state = moving(self.system)
        self.kernels, self.at = core(self.system), arrays(self.state)
        self.inputs = self.system.input_vector(self.system.signals(None), 0.0)

    def inverse_us(self) -> float:
        """CPU time of one inverse dynamics [us]."""
        a, calls = self.at, self._calls()
        arguments = (self.kernels.robot, a.base, a.twist, a.q, a.multipliers, self.inputs, 3, calls)
        residual = entry.address("tree.evaluate.evaluate_residual")
        return 1e6 / calls * cpu_time(lambda: repeat_residual(residual, *arguments), repeats=20, at_least=0.01)

    def direct_us(self) -> float:
        """CPU time of one direct dynamics [us]."""
        a, calls = arrays(self.state), self._calls()
        own = entry.address("tree.articulated.accelerations"), entry.address("tree.evaluate.evaluate_residual")
        arguments = (self.kernels.robot, self.kernels.sweep, a.base, a.twist, a.q, a.multipliers, self.inputs, calls)
        return 1e6 / calls * cpu_time(lambda: repeat_accelerations(*own, *arguments), repeats=20, at_least=0.01)

    def _calls(self) -> int:
        return max(1, CALLS * JOINTS // (self.system.n // 3))

    def inverse_error(self) -> float:
        """Difference of inverse dynamics to the readable twin, over the largest entry."""
        a = self.at
        ours = ev.inverse_dynamics(self.system, self.state)
        twin = twin_residual(self.kernels.program, a.base, a.twist, a.q, a.multipliers, self.inputs)
        return float(np.abs(ours - twin).max() / np.abs(twin).max())

    def direct_error(self) -> float:
        """Difference of direct dynamics to the dense equations M q'' = -bias, over the largest entry."""
        found = ev.forward_dynamics(self.system, self.state)
        dense = -np.linalg.solve(ev.mass_matrix(self.system, self.state), ev.bias_forces(self.system, self.state))
        return float(np.abs(np.concatenate([found.eta_dot, found.q_ddot]) - dense).max() / np.abs(dense).max())


# Pinocchio --------------------------------------------------------------------------------------------------


class Other:
    """The same eel in Pinocchio, called from Python."""

    def __init__(self) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.Model()
        parent, place = 0, pin.SE3.Identity()
        for k in range(JOINTS + 1):
            kind = pin.JointModelSpherical() if k else pin.JointModelFreeFlyer()
            length = LINK if k else HEAD
            body = ev.RigidBody.elliptic_cylinder(HALF_AXES, length, density=DENSITY)
            parent = self.model.addJoint(parent, kind, place, f"joint-{k}")
            inertia = pin.Inertia(body.mass, np.array([0.5 * length, 0.0, 0.0]), np.array(body.inertia))
            self.model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
            place = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
        self.model.gravity = pin.Motion.Zero()
        self.data = self.model.createData()
        random = np.random.default_rng(7)
        self.q = pin.integrate(self.model, pin.neutral(self.model), 0.3 * random.normal(size=self.model.nv))
        self.v, self.a = random.normal(size=(2, self.model.nv))

    def inverse_us(self) -> float:
        """CPU time of its recursive Newton-Euler algorithm [us]."""
        call = self.pin.rnea
        return 1e6 * cpu_time(lambda: call(self.model, self.data, self.q, self.v, self.a), repeats=20, at_least=0.01)

    def direct_us(self) -> float:
        """CPU time of its articulated bodies [us]."""
        call = self.pin.aba
        return 1e6 * cpu_time(lambda: call(self.model, self.data, self.q, self.v, self.a), repeats=20, at_least=0.01)

    def second(self) -> None:
        """One second at 1 kHz without water."""
        model, data, q, v, tau, h = self.model, self.data, self.q, 0.1 * self.v, np.zeros(self.model.nv), 1e-3
        for _ in range(1000):
            v = v + h * self.pin.aba(model, data, q, v, tau)
            q = self.pin.integrate(model, q, h * v)


@cache
def other() -> Other | None:
    """Pinocchio, where it is installed."""
    return Other() if find_spec("pinocchio") is not None else None


def _beside(peers: bool, measure: Any) -> dict[str, float | None]:
    return {"pinocchio": measure(other()) if other() is not None else None} if peers else {}


# Rows -------------------------------------------------------------------------------------------------------


@row("eel-inverse-dynamics", unit="us", goal=3.0)
def eel_inverse_dynamics(peers: bool) -> Row:
    """Inverse dynamics of the eel, base wrench and 36 joint moments."""
    chain = Chain()
    error = chain.inverse_error()
    return Row(chain.inverse_us() if error <= ACCURACY else None, error, _beside(peers, Other.inverse_us))


@row("eel-direct-dynamics", unit="us", goal=7.0)
def eel_direct_dynamics(peers: bool) -> Row:
    """Accelerations of the head and of 36 joint coordinates."""
    chain = Chain()
    error = chain.direct_error()
    return Row(chain.direct_us() if error <= ACCURACY else None, error, _beside(peers, Other.direct_us))


@row("eel-second-1khz", unit="CPU s/s", goal=0.011)
def eel_second_1khz(peers: bool) -> Row:
    """One simulated second at 1 kHz in water, from a moving state; the error is that to steps half as long."""
    system = eel(loads=(ev.Morison(),))
    start = moving(system)
    start = start.with_(q_dot=0.1 * start.q_dot, eta=0.1 * start.eta)
    method, times = ev.SemiImplicitEuler(), np.linspace(0.0, 1.0, 1001)
    signals = system.signals(None)

    def run(times: np.ndarray) -> np.ndarray:
        done, out = March(system, start, method, signals).run(times)
        assert done == times.size - 1
        return out["base"][-1, 3]

    ours = cpu_time(lambda: run(times), at_least=0.1)
    fine = run(np.linspace(0.0, 1.0, 4001))
    error = float(np.linalg.norm(run(times) - fine) / (HEAD + JOINTS * LINK))
    return Row(ours, error, _beside(peers, lambda pinocchio: cpu_time(pinocchio.second, at_least=0.1)))


@row("eel-cost-exponent", unit="power of joints", goal=1.1)
def eel_cost_exponent(peers: bool) -> Row:
    """p in time ~ joints^p from 12 to 384 spherical joints: the larger of inverse and direct dynamics."""
    chains = [Chain(joints) for joints in CHAINS]
    times = np.array([(chain.inverse_us(), chain.direct_us()) for chain in chains])
    return Row(float(np.polyfit(np.log(CHAINS), np.log(times), 1)[0].max()))


@row("swimmer-realtime", unit="x real time", goal=20.0, goal_is_lower_bound=True)
def swimmer_realtime(peers: bool) -> Row:
    """A rod that swims by its muscles (Lighthill), 10 functions, 10 ms, 6 s, results included; error at the head."""
    I, duration = np.pi * 0.05**4 / 4.0, 6.0
    material = ev.Material(young=50.0 / I, poisson=0.0, density=DENSITY)
    rod = ev.Rod(1.0, ev.Circle(0.05), material, ev.Legendre.planar(10), name="eel")
    wave = ev.CurvatureWave((1.0, 0.5, 2.0), 1.0, 1.0, ramp=ev.c2_ramp(0.0, 1.0))
    muscles, inputs = ev.muscle_gait(rod, wave)
    system = ev.System(ev.Mechanism.free(rod), actuators=muscles, loads=[ev.Lighthill(rod)])

    def head(step: float, **how: Any) -> np.ndarray:
        run = ev.simulate(system, duration=duration, step=step, inputs=inputs, **how)
        return run["eel/base/position"].values[-1]

    error = float(np.linalg.norm(head(0.01) - head(0.005, method=ev.GaussLegendre4())))
    return Row(duration / cpu_time(lambda: head(0.01), at_least=0.1), error)
