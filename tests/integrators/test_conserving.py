"""The conserving method: energy and momentum to rounding, order two, whatever holds the robot together.

Claims and bounds are those of the specification of conserving steps (its acceptance tests 1 to 7); closed forms and
GaussLegendre4 are the other side.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import elver as ev
from elver.integrators.march import March
from elver.kernels.algebra import lu_solve
from elver.kernels.build.entry import address, calls_of
from elver.kernels.build.load import load
from elver.kernels.march.memory import ROW, STEP, track_for
from elver.kernels.march.passage import words_of

KEEPS, LOSES = ev.Conserving(), ev.Conserving(rho_inf=0.8)


def soft(name: str = "rod", young: float = 1e6, basis: ev.Legendre | None = None, **more: float) -> ev.Rod:
    material = ev.Material(young=young, poisson=0.5, density=1000.0, **more)
    return ev.Rod(1.0, ev.Circle(0.01), material, basis or ev.Legendre.kirchhoff(3), name=name)


def gained(run: xr.Dataset) -> float:
    """Largest energy out of nowhere, of that in play."""
    return float(np.max(np.abs(run["energy/numerical"])) / run.attrs["energy_in_play"])


def thrown() -> tuple[ev.System, ev.State]:
    """A free rod, thrown with spin and strain rates."""
    system = ev.System(ev.Mechanism.free(soft(young=1e7)))
    rate = np.random.default_rng(1).normal(size=system.n)
    return system, system.rest().with_(eta=np.array([1.0, 2.0, 3.0, 0.5, 0.2, 0.1]), q_dot=rate)


# Free motion ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1e-2, 2e-2])
def test_a_thrown_rod_keeps_momentum_and_energy(step: float) -> None:
    system, state = thrown()
    run = ev.simulate(system, state, 4.0, step, KEEPS)
    momentum = run["momentum"].values
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-10)
    assert gained(run) < 1e-10
    assert np.ptp(run["energy/total"].values) < 1e-10 * run["energy/total"].values[0]
    # the mass centre goes straight: nodes weighted by the quadrature that carries their mass
    kernels = March(system, state, KEEPS, system.signals(None)).core
    mass, c = kernels.program.inertia[:, 3, 3], kernels.assembly.rods[system.mechanism.rods[0]].frames
    centre = np.einsum("f,tfi->ti", mass[c], run["rod/position"].values) / mass[c].sum()
    time = run["time"].values[:, None]
    straight = centre[0] + time * momentum[0, 3:] / mass.sum()
    np.testing.assert_allclose(centre, straight, atol=1e-10)


def test_a_rigid_body_spins_for_ever() -> None:
    body = ev.RigidBody(2.0, (0.1, 0.2, 0.25), (0.1, -0.05, 0.2), name="body")
    system = ev.System(ev.Mechanism([ev.Floating("world", body)]))
    spin = np.array([0.3, 8.0, 0.2, 1.0, -0.5, 0.3])  # about the middle axis: it tumbles; 0.8 rad in each step
    run = ev.simulate(system, system.rest().with_(eta=spin), 5.0, 0.1, ev.Conserving(tolerance=1e-14))
    momentum, energy = run["momentum"].values, run["energy/kinetic"].values
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-10)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


# Energy where nothing else keeps it -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:simulate. energy fell:elver.errors.ElverWarning")  # by what LOSES is asked to take
@pytest.mark.parametrize("step", [5e-3, 1e-2, 2e-2])
def test_a_sudden_tendon_brings_nothing_in(step: float) -> None:
    rod = soft(young=1e7, basis=ev.Legendre.reissner(5))
    tendon = ev.Tendon(rod, ev.parallel(z=5e-3))
    system = ev.System(ev.Mechanism.clamped(rod), [tendon], [ev.PointWrench(rod, force=(0.0, 0.0785, 0.0))])
    run = ev.simulate(system, duration=1.0, step=step, method=KEEPS, inputs={tendon: 7.85})
    assert run.attrs["divided_steps"] == 0
    assert gained(run) < 1e-9
    damped = ev.simulate(system, duration=1.0, step=step, method=LOSES, inputs={tendon: 7.85})
    assert np.max(damped["energy/numerical"]) < 1e-9 * damped.attrs["energy_in_play"]


@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
@pytest.mark.parametrize(("young", "step"), [(1e5, 1e-2), (1e5, 2e-2), (1e6, 2e-2)])
def test_a_soft_drop_keeps_its_energy_through_divided_steps(young: float, step: float) -> None:
    system = ev.System(ev.Mechanism.clamped(soft(young=young, basis=ev.Legendre.reissner(5))), [], [ev.Gravity()])
    run = ev.simulate(system, duration=1.5, step=step, method=KEEPS)
    assert gained(run) < 1e-8


def loop(damping: float = 0.0) -> ev.System:
    """Three rods on hinges, pinned at both ends, sagging under their weight."""
    rods = [
        ev.Rod(
            0.3, ev.Circle(0.01), ev.Material(young=1e7, poisson=0.4, density=1000.0, damping=damping),
            ev.Legendre.kirchhoff(2), name=f"r{k}",
        )
        for k in range(3)
    ]  # fmt: skip
    hinges = [
        ev.Revolute("world", (rods[0], "base"), axis="y", start=-0.5),
        ev.Revolute((rods[0], "tip"), (rods[1], "base"), axis="y", start=0.5),
        ev.Revolute((rods[1], "tip"), (rods[2], "base"), axis="y", start=0.5),
    ]
    place = (0.3 * (1.0 + 2.0 * np.cos(0.5)), 0.0, 0.0)
    return ev.System(
        ev.Mechanism([*hinges, ev.Revolute((rods[2], "tip"), ("world", place), axis="y", cut=True)]), [], [ev.Gravity()]
    )


@pytest.mark.parametrize("step", [5e-3, 2e-2])
def test_a_loop_keeps_its_energy_and_stays_closed(step: float) -> None:
    system = loop()
    run = ev.simulate(system, ev.assemble(system), 1.0, step, KEEPS)
    assert gained(run) < 1e-9
    ends = run["r2/tip/position"].values
    np.testing.assert_allclose(ends, np.broadcast_to(ends[0], ends.shape), atol=1e-9)


# The ledger closes for all that acts ------------------------------------------------------------------------


def swung() -> tuple[ev.System, dict]:
    rods = soft("a", 1e7), soft("b", 1e7)
    hinge = ev.Revolute((rods[0], "tip"), (rods[1], "base"), axis="y", name="hinge")
    joints = [ev.Fixed("world", (rods[0], "base")), hinge]
    swing = ev.Imposed(hinge, name="swing")
    return ev.System(ev.Mechanism(joints), [swing], [ev.Gravity()]), {swing: lambda t: 0.3 * np.sin(10.0 * t)}


def driven() -> tuple[ev.System, dict]:
    def pose(t: float) -> np.ndarray:
        a, g = 0.3 * np.sin(6.0 * t), np.eye(4)
        g[:2, :2], g[2, 3] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]], 0.05 * np.sin(4.0 * t)
        return g

    return ev.System(ev.Mechanism.driven(soft(young=1e7), ev.Motion(pose)), [], [ev.Gravity()]), {}


def geared() -> tuple[ev.System, dict]:
    """A motor with rotor, friction and a stop on a hinge that carries a rod."""
    rod = soft("a", 1e7)
    hinge = ev.Revolute("world", (rod, "base"), axis="y", name="hinge")
    motor = ev.Motor(hinge, name="motor")
    loads = [
        ev.Gravity(), ev.RotorInertia(hinge, 0.02), ev.JointStop(hinge, lower=-0.8, upper=0.8, stiffness=50.0),
        ev.JointFriction(hinge, viscous=0.01, dry=0.02), ev.JointSpring(hinge, stiffness=0.5),
    ]  # fmt: skip
    return ev.System(ev.Mechanism([hinge]), [motor], loads), {motor: lambda t: 0.5 * np.sin(5.0 * t)}


def spooled() -> tuple[ev.System, dict]:
    rod = soft("a", 1e7)
    spool = ev.SpooledTendon(rod, ev.parallel(z=5e-3), name="spool")
    wound = {spool: lambda t: 1e-3 * (1.0 - np.cos(5.0 * t))}
    return ev.System(ev.Mechanism.clamped(rod), [spool], [ev.Gravity()]), wound


def stayed() -> tuple[ev.System, dict]:
    """A cable over a free span, a follower, Kelvin-Voigt damping."""
    rod = soft("a", 1e7, damping=1e-3)
    stay = ev.Tendon([ev.Frame("world", pose=(0.3, 0.2, 0.2)), ev.Frame(rod, "tip")], name="stay")
    push = ev.PointWrench(rod, force=(0.0, 0.02, 0.0), frame="section", name="push")
    pull = {stay: lambda t: 0.1 + 0.05 * np.sin(9.0 * t)}
    return ev.System(ev.Mechanism.clamped(rod), [stay], [ev.Gravity(), push]), pull


def rubbed() -> tuple[ev.System, dict]:
    """A tip that slides with dry and viscous friction, and a rod that loses motion in proportion to its mass."""
    rod = soft("a", 1e7, mass_damping=3.0)
    slide = ev.SlidingFriction((rod, "tip"), viscous=0.05, dry=0.02, speed=0.05, name="slide")
    return ev.System(ev.Mechanism.clamped(rod), [], [ev.Gravity(), slide]), {}


@pytest.mark.parametrize("make", [swung, driven, geared, spooled, stayed, rubbed])
def test_the_ledger_closes(make) -> None:
    system, inputs = make()
    run = ev.simulate(system, duration=0.8, step=1e-2, method=KEEPS, inputs=inputs)
    # followers and dead couples are booked by the mean turn, not by the Cayley vector: of third order, then set
    assert gained(run) < (1e-5 if make is stayed else 1e-9)


# Order ------------------------------------------------------------------------------------------------------


def free_soft() -> tuple[ev.System, ev.State, dict]:
    system, state = thrown()
    rate = np.zeros(system.n)
    rate[3], rate[6] = 3.0, -2.0  # bending that all steps resolve
    return system, state.with_(q_dot=rate), {}


def clamped_soft() -> tuple[ev.System, ev.State, dict]:
    system = ev.System(ev.Mechanism.clamped(soft(young=1e7, damping=2e-3)), [], [ev.Gravity()])
    return system, system.rest(), {}


def closed() -> tuple[ev.System, ev.State, dict]:
    system = loop(damping=5e-3)
    return system, ev.assemble(system), {}


def pendulum() -> tuple[ev.System, ev.State, dict]:
    one, two = (ev.RigidBody(1.0, (0.01, 0.02, 0.02), (0.25, 0.0, 0.0), name=name) for name in ("one", "two"))
    hinges = [
        ev.Revolute("world", one, axis="y", start=0.4),
        ev.Revolute((one, (0.5, 0.0, 0.0)), two, axis="y", start=0.7),
    ]
    system = ev.System(ev.Mechanism(hinges), [], [ev.Gravity()])
    return system, system.rest(), {}


def moved() -> tuple[ev.System, ev.State, dict]:
    system, inputs = driven()
    return system, system.rest(), inputs


def slowed() -> tuple[ev.System, ev.State, dict]:
    """A thrown rod that loses motion in proportion to its mass, its tip in a viscous film."""
    rod = soft(young=1e7, mass_damping=2.0)
    system = ev.System(ev.Mechanism.free(rod), [], [ev.SlidingFriction((rod, "tip"), viscous=0.1, name="film")])
    rate = np.zeros(system.n)
    rate[3], rate[6] = 3.0, -2.0
    return system, system.rest().with_(eta=np.array([1.0, 2.0, 3.0, 0.5, 0.2, 0.1]), q_dot=rate), {}


def test_momentum_falls_as_damping_in_proportion_to_the_mass_says() -> None:
    rod = soft(young=1e7, mass_damping=2.0)
    system = ev.System(ev.Mechanism.free(rod))
    state = system.rest().with_(eta=np.array([1.0, 2.0, 3.0, 0.5, 0.2, 0.1]))
    errors = []
    for step in (1e-2, 5e-3):
        run = ev.simulate(system, state, 0.5, step, KEEPS)
        fell = run["momentum"].values[-1] / run["momentum"].values[0]
        errors.append(np.abs(fell - np.exp(-1.0)))
        # a straight rod has little but its rigid motion, and a step pays with 2 % of the rest at most: seen, then set
        assert gained(run) < 1e-8
    # (1 - αh/2)/(1 + αh/2) of each step is off by α³h²t/12 in the exponent; of the turning body it is of that order
    assert errors[0][3:] == pytest.approx(np.exp(-1.0) * 8.0 * 1e-4 * 0.5 / 12.0, rel=1e-3)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("make", [free_soft, clamped_soft, closed, pendulum, moved, slowed])
@pytest.mark.parametrize("method", [KEEPS, LOSES])
def test_order_two(make, method: ev.Conserving) -> None:
    system, state, inputs = make()
    reference = ev.simulate(system, state, 0.24, 1e-3, ev.GaussLegendre4(), inputs)
    for what in ("q", "q_dot"):
        errors = []
        for every in (4, 2, 1):
            run = ev.simulate(system, state, 0.24, every * 1e-3, method, inputs)
            errors.append(np.sqrt(np.mean((run[what].values[:: 4 // every] - reference[what].values[::4]) ** 2)))
        order = np.log2(np.array(errors[:-1]) / errors[1:])
        assert 1.7 < order[-1] < 2.4, (what, errors, order)


def held_up() -> tuple[ev.System, ev.State, dict]:
    system, inputs = stayed()
    return system, system.rest(), inputs


# Newton -----------------------------------------------------------------------------------------------------


def swims(fluid: type[ev.Morison | ev.Lighthill]) -> tuple[ev.System, ev.State, dict]:
    """A thrown rod in a stream."""
    rod = ev.Rod(
        1.0, ev.Ellipse(0.05, 0.03), ev.Material(young=1e6, poisson=0.4, density=1000.0), ev.Legendre.planar(3)
    )
    system = ev.System(ev.Mechanism.free(rod), [], [fluid([rod], flow=(0.3, 0.1, 0.05))])
    thrown = system.rest().with_(eta=np.array([0.1, 0.2, 3.0, 0.5, 0.2, 0.1]), q_dot=np.array([1.0, 2.0, 3.0]))
    return system, thrown, {}


def sliced() -> tuple[ev.System, ev.State, dict]:
    return swims(ev.Morison)


def shedding() -> tuple[ev.System, ev.State, dict]:
    return swims(ev.Lighthill)


@pytest.mark.parametrize("make", [free_soft, closed, held_up, slowed, sliced, shedding])
def test_the_matrix_is_the_variation_of_the_residual(make) -> None:
    system, state, inputs = make()
    march, h = March(system, state, KEEPS, system.signals(inputs)), 1e-2
    march.run(np.array([0.0, 1e-3, 2e-3]))
    kernels, scratch, passage = march.core, march.scratch, march.passage
    assert passage is not None
    instants = 2e-3 + h * np.array([0.0, 0.5, 1.0])
    u, (given, _) = march.inputs(instants), march.given(instants)
    track = track_for(3, u.shape[1])._replace(inputs=u, given_base=given)
    table = scratch.table(calls_of("conserving", False), track, words_of(passage))
    it, scratch.trial.at[ROW], scratch.iteration.control[STEP] = scratch.iteration, 2, h
    own = address("tree.evaluate.evaluate_residual")
    load("march.step_residual.start_step").call(own, kernels.robot, table, h, march.base, march.q, *u)

    def residual(x: np.ndarray) -> np.ndarray:
        it.x[0] = x
        load("march.conserving.residual_of_motion").call(kernels.robot, table)
        return passage.residual.copy()

    rng = np.random.default_rng(0)
    unit = np.concatenate([scratch.trial.scale, np.full(kernels.rows, 1e-2)])
    x = 0.05 * unit * rng.normal(size=unit.size)
    residual(x)
    assert load("march.conserving.tangent_of_motion").call(kernels.robot, table) > 0.0
    inverse = np.eye(unit.size)
    for row in inverse:  # each becomes a column of the inverse
        lu_solve(it.matrix, it.pivots, row)
    matrix = np.linalg.inv(inverse.T) * unit
    found = np.array(
        [(residual(x + 1e-5 * e) - residual(x - 1e-5 * e)) / 2e-5 for e in np.diag(unit)]
    ).T
    size = np.max(np.abs(found), axis=1, keepdims=True)
    np.testing.assert_allclose(matrix / size, found / size, atol=1e-8)


# Kindness ---------------------------------------------------------------------------------------------------


def test_runs_do_not_depend_on_how_they_are_cut() -> None:
    system, state = thrown()
    whole, cut = (March(system, state, KEEPS, ()) for _ in range(2))
    times = 5e-3 * np.arange(21)
    whole.run(times)
    for k in range(20):
        cut.run(times[k : k + 2])
    np.testing.assert_array_equal(whole.q[0], cut.q[0])


def test_what_it_does_not_know_is_said() -> None:
    material = ev.Material(young=1e6, poisson=0.5, density=1000.0)
    many, checked = (
        ev.Rod(1.0, ev.Circle(0.01), material, basis, name=name, **more)
        for name, basis, more in (
            ("many", ev.PiecewiseLinear.kirchhoff(600), {}),
            ("checked", ev.Legendre.kirchhoff(3), {"nodes": 12, "integration": ev.Spectral()}),
        )
    )
    hinge = ev.Revolute("world", (many, "base"))
    driven = ev.System(ev.Mechanism([hinge]), [ev.Imposed(hinge)])
    for system, words in ((driven, "dense matrices"), (ev.System(ev.Mechanism.clamped(checked)), "Spectral")):
        with pytest.raises(ev.BadInput, match=words):
            KEEPS.check(system)
    with pytest.raises(ev.BadInput, match=r"rho_inf = 0\.2"):
        ev.Conserving(rho_inf=0.2)


@pytest.mark.filterwarnings("ignore:redundant")  # the plane of the loop is said twice
def test_rest_is_not_taken_in_parts():
    """The energy that rounding moves at rest is no motion that a step could bring too much into."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    sides = [ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), name=side) for side in ("left", "right")]
    hinges = [
        ev.Revolute(("world", (x, 0, 0)), (rod, "base"), start=np.pi / 2, name=f"{rod.name}-hinge")
        for x, rod in zip((-0.2, 0.2), sides)
    ]
    apex = ev.Revolute((sides[0], "tip"), (sides[1], "tip"), name="apex")
    system = ev.System(ev.Mechanism([*hinges, apex]), [ev.Motor(hinge, name=f"{hinge.name}-motor") for hinge in hinges])
    torques = {"left-hinge-motor": 0.0, "right-hinge-motor": 0.0}
    still = ev.equilibrium(system, torques)
    run = ev.simulate(system, still, 1.0, 5e-3, ev.Conserving(), torques)
    assert run["energy/kinetic"].values.max() < 1e-18
    assert "shortened_steps" not in run.attrs
