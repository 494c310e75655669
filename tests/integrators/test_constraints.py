"""Held sections, wound tendons and driven bases in motion."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.lie import se3

METHODS = [ev.Newmark(), ev.GeneralizedAlpha(rho_inf=0.6)]


def name(method: object) -> str:
    return type(method).__name__


def silicone() -> ev.Material:
    return ev.Material(young=1e6, poisson=0.45, density=1070.0, damping=2e-3)


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_a_pinned_tip_stays_where_it_is_held(method: ev.Newmark) -> None:
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre(bending=4, torsion=2))
    pin = ev.Hold("tip", position=(0.34, 0.05, 0.02), name="pin")
    system = ev.System(ev.Mechanism.clamped(rod, holds=[pin]), loads=[ev.Gravity()])
    held = ev.equilibrium(system)
    run = ev.simulate(system, held, 0.5, 5e-3, method, {"gravity": -0.5})
    assert np.abs(run["rod/tip/position"].values - (0.34, 0.05, 0.02)).max() < 1e-9
    assert np.ptp(run["q"].values, axis=0).max() > 0.1  # and the rod between does move
    # the reactions are forces of the size of the weight
    weight = 1070.0 * np.pi * 8e-3**2 * 0.4 * 9.81
    force = run["multipliers"].sel(multiplier="pin/force_z").values
    assert 0.05 * weight < np.abs(force).max() < 20.0 * weight


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_a_clamped_tip_keeps_its_orientation(method: ev.Newmark) -> None:
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre(bending=5, torsion=2))
    far = ev.Hold("tip", position=(0.36, 0.0, 0.05), orientation=np.eye(3), name="far end")
    system = ev.System(ev.Mechanism.clamped(rod, holds=[far]), loads=[ev.Gravity()])
    held = ev.equilibrium(system)
    run = ev.simulate(system, held, 0.3, 5e-3, method, {"gravity": ev.smooth_step(0.0, 0.1, 1.0, -1.0)})
    assert np.abs(run["rod/tip/position"].values - (0.36, 0.0, 0.05)).max() < 1e-9
    tip = run["rod/orientation"].values[:, -1]
    assert np.abs(tip - (1.0, 0.0, 0.0, 0.0)).max() < 1e-9


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_a_free_rod_swings_about_a_held_point(method: ev.Newmark) -> None:
    """A pendulum on a pin at its base: the pin holds to 1e-9 m while the rod turns over and bends."""
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre.planar(2))
    pin = ev.Hold("base", position=(0.0, 0.0, 0.0), name="pin")
    system = ev.System(ev.Mechanism.free(rod, holds=[pin]), loads=[ev.Gravity((0.0, -9.81, 0.0))])
    run = ev.simulate(system, duration=1.0, step=2.5e-3, method=method)
    assert np.abs(run["rod/base/position"].values).max() < 1e-9
    assert run["rod/tip/position"].values[:, 1].min() < -0.35
    energy = run["energy/total"].values
    assert energy[-1] < energy[0] + 1e-4 * (energy.max() - energy.min() + run["energy/kinetic"].values.max())


def cable_length(system: ev.System, run, offset: tuple[float, float]) -> np.ndarray:
    """Length [m] of a parallel tendon at every instant, straight from the curvature: ∫ |Γ + K × D| ds."""
    rod = system.rod
    x, w = np.polynomial.legendre.leggauss(24)
    s, w = 0.5 * rod.length * (x + 1.0), 0.5 * rod.length * w
    D = np.array([0.0, *offset])
    lengths = []
    for q in run["q"].values:
        xi = rod.strain(s, q)
        lengths.append(float(w @ np.linalg.norm(xi[:, 3:] + np.cross(xi[:, :3], D), axis=1)))
    return np.array(lengths)


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_a_wound_tendon_keeps_its_length(method: ev.Newmark) -> None:
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre(bending=4, torsion=2))
    spool = ev.SpooledTendon(rod, path=ev.parallel(y=6e-3, z=0.0))
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[spool], loads=[ev.Gravity((9.81, 0.0, 0.0))])
    wind = ev.smooth_step(0.0, 0.4, 0.0, 6e-3)
    run = ev.simulate(system, duration=0.6, step=5e-3, method=method, inputs={spool: wind})
    expected = 0.4 - np.array([wind(t) for t in run["time"].values])
    np.testing.assert_allclose(cable_length(system, run, (6e-3, 0.0)), expected, atol=1e-9)
    # wound in by 6 mm at 6 mm from the axis: the rod turns by one radian, up to inertia
    assert run["q"].values[-1, 2 + 4] * 0.4 == pytest.approx(1.0, abs=0.02)


def test_gauss_methods_say_that_they_do_not_wind_tendons() -> None:
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre.planar(3))
    spool = ev.SpooledTendon(rod, path=ev.parallel(y=6e-3, z=0.0), name="winch")
    system = ev.System(ev.Mechanism.clamped(rod), actuators=[spool])
    with pytest.raises(ev.BadInput, match=r"GaussLegendre4 holds closures by their rates.*'winch'.*GeneralizedAlpha"):
        ev.simulate(system, duration=0.1, method=ev.GaussLegendre4())


def hub_on_two_arms(root: bool) -> ev.System:
    """A hub on an arm that is pinned to the world at its tip, with a second arm that swings; cut at the pin or not."""
    soft = ev.Material(young=3e5, poisson=0.45, density=1000.0)
    arm, leg = (
        ev.Rod(length, ev.Circle(0.02), soft, ev.Legendre.kirchhoff(2), name=name, nodes=8)
        for name, length in (("arm", 0.5), ("leg", 0.4))
    )
    hub = ev.RigidBody.box((0.1, 0.08, 0.05), mass=0.5, name="hub")
    joints = [
        ev.Fixed((hub, (0.05, 0.0, 0.0)), (arm, "base")),
        ev.Spherical(("world", (0.55, 0.0, 0.0)), (arm, "tip"), name="pin"),
        ev.Universal((hub, (0.0, 0.04, 0.0)), (leg, "base"), name="cross"),
        ev.Floating("world", hub),
    ]
    return ev.System(ev.Mechanism(joints, root=hub if root else None), loads=[ev.Gravity()])


@pytest.mark.parametrize("group", ["SO3xR3", "SE3"])
def test_order_and_cut_invariance_of_a_swinging_hub(group: str) -> None:
    """A floating base with a closure to the world, or a tree that hangs from it: one motion, full order."""
    cut, tree = hub_on_two_arms(root=True), hub_on_two_arms(root=False)
    assert cut.free
    assert len(cut.multipliers) == 3
    assert not tree.free
    assert not tree.multipliers

    def tip(system: ev.System, method, steps: int):
        run = ev.simulate(system, system.rest(), 0.3, 0.3 / steps, method)
        pin = run["arm/tip/position"].values
        assert np.max(np.abs(pin - (0.55, 0.0, 0.0))) < 1e-12
        return run["leg/tip/position"].values[-1]

    exact = tip(tree, ev.GaussLegendre4(), 320)
    np.testing.assert_allclose(tip(cut, ev.GaussLegendre4(group=group), 320), exact, atol=1e-8)
    for method, order in (
        (ev.GaussLegendre4(group=group), 4.0),
        (ev.ImplicitMidpoint(group=group), 2.0),
        (ev.Newmark(group=group), 2.0),
        (ev.GeneralizedAlpha(rho_inf=0.6, group=group), 2.0),
        (ev.HHT(rho_inf=0.8, group=group), 2.0),
    ):
        errors = [np.linalg.norm(tip(cut, method, steps) - exact) for steps in (40, 80)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_the_order_of_newmark_survives_a_hold() -> None:
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre.planar(3))
    slide = ev.Hold("tip", position=(None, 0.05, None), name="slide")
    system = ev.System(ev.Mechanism.clamped(rod, holds=[slide]), loads=[ev.Gravity((0.0, -9.81, 0.0))])
    held = ev.equilibrium(system)
    off = {"gravity": ev.smooth_step(0.0, 0.3, 1.0, 0.0)}
    exact = ev.simulate(system, held, 0.2, 1.25e-4, inputs=off)["q"].values[-1]
    errors = [np.linalg.norm(ev.simulate(system, held, 0.2, h, inputs=off)["q"].values[-1] - exact)
              for h in (4e-3, 2e-3, 1e-3)]  # fmt: skip
    assert -np.polyfit(np.arange(3), np.log2(errors), 1)[0] == pytest.approx(2.0, abs=0.15)


# --------------------------------------------------------------------------------------------- driven bases


def test_a_lift_that_accelerates_is_heavier_gravity() -> None:
    """Base accelerated upward by a: in its own frame the rod moves as under g + a."""
    a = 3.0

    def pose(t: float) -> np.ndarray:
        g = np.eye(4)
        g[2, 3] = 0.5 * a * t**2
        return g

    motion = ev.Motion(
        pose,
        twist=lambda t: np.array([0.0, 0.0, 0.0, 0.0, 0.0, a * t]),
        acceleration=lambda t: np.array([0.0, 0.0, 0.0, 0.0, 0.0, a]),
    )
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre(bending=3, torsion=1))
    lift = ev.System(ev.Mechanism.driven(rod, motion), loads=[ev.Gravity()])
    still = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity((0.0, 0.0, -9.81 - a))])
    for method in (ev.Newmark(), ev.GaussLegendre4()):
        one = ev.simulate(lift, duration=0.5, step=5e-3, method=method)
        two = ev.simulate(still, duration=0.5, step=5e-3, method=method)
        # Newton's tolerance over a hundred steps
        np.testing.assert_allclose(one["q"], two["q"], atol=1e-8)


def test_a_turning_table_is_the_same_motion_seen_from_outside() -> None:
    """A free rod spun at its steady rate and a driven one: with the base told to move as the free one moved."""
    rod = ev.Rod(0.4, ev.Circle(8e-3), silicone(), ev.Legendre(bending=2, torsion=1))
    spin = np.array([0.5, 3.0, -2.0, 0.3, 0.2, -0.1])
    system = ev.System(ev.Mechanism.free(rod), loads=[ev.Gravity()])
    start = system.rest().with_(q=np.array([0.2, 1.0, 0.3, -0.5, 0.4]), eta=spin)
    free = ev.simulate(system, start, 0.3, 1e-3, ev.GaussLegendre4())
    from scipy.interpolate import CubicHermiteSpline, CubicSpline

    t = free["time"].values
    twist = CubicHermiteSpline(t, free["rod/base/twist"].values, free["rod/base/twist_rate"].values)
    position = CubicSpline(t, free["rod/base/position"].values)
    quaternion = CubicSpline(t, free["rod/orientation"].values[:, 0])
    from elver.lie import so3

    def pose(at: float) -> np.ndarray:
        h = quaternion(at)
        return se3.pose(so3.from_quaternion(h / np.linalg.norm(h)), position(at))

    driven = ev.System(
        ev.Mechanism.driven(rod, ev.Motion(pose, twist=twist, acceleration=twist.derivative())),
        loads=[ev.Gravity()],
    )
    begin = driven.rest().with_(q=start.q)
    run = ev.simulate(driven, begin, 0.3, 1e-3, ev.GaussLegendre4())
    # interpolation of the recorded base motion: cubic between samples of 1 ms
    np.testing.assert_allclose(run["q"].values[-1], free["q"].values[-1], atol=1e-4 * np.abs(free["q"]).max())


@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
def test_forces_of_loops_and_efforts_have_the_order_of_gauss() -> None:
    """Multipliers and efforts at the end of a step are in balance there, not extrapolated from the stages."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    one, two = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), nodes=8, name=n) for n in ("one", "two"))
    angle = float(np.arccos(0.2))
    first = ev.Revolute(("world", (-0.2, 0.0, 0.0)), (one, "base"), start=angle, name="driven")
    joints = [
        first,
        ev.Revolute(("world", (0.2, 0.0, 0.0)), (two, "base"), start=np.pi - angle),
        ev.Revolute((one, "tip"), (two, "tip")),
    ]
    system = ev.System(ev.Mechanism(joints), actuators=[ev.Imposed(first, name="drive")])

    def drive(t: float) -> tuple[float, float, float]:
        s, c = np.sin(3.0 * t), np.cos(3.0 * t)
        return angle + 0.3 * s**4, 3.6 * s**3 * c, 32.4 * s**2 * c**2 - 10.8 * s**4

    def forces(steps: int, method=None) -> tuple[np.ndarray, np.ndarray]:
        run = ev.simulate(system, system.rest(), 0.5, 0.5 / steps, method or ev.GaussLegendre4(), {"drive": drive})
        return run["multipliers"].values[-1], run["efforts"].values[-1]

    exact = forces(400)
    for method, order in ((ev.GaussLegendre4(), 4.0), (ev.ImplicitMidpoint(), 2.0)):
        coarse, fine = forces(100, method), forces(200, method)
        for k in range(2) if order == 4.0 else range(1):
            errors = [np.linalg.norm(found[k] - exact[k]) for found in (coarse, fine)]
            assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


# --------------------------------------------------------------------------------------------- loops on a base


def two_rod_loop(base, gravity: tuple[float, float, float], cut: bool) -> ev.System:
    """Two planar rods from two revolutes to one; cut at their tips, or at the second revolute."""
    steel = ev.Material(young=210e9, shear=80e9, density=7800.0)
    one, two = (ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.planar(3), nodes=10, name=n) for n in ("one", "two"))
    angle = np.arccos(0.2)
    joints = [
        ev.Revolute(("world", (-0.2, 0.0, 0.0)), (one, "base"), start=angle),
        ev.Revolute(("world", (0.2, 0.0, 0.0)), (two, "base"), start=np.pi - angle, cut=cut),
        ev.Revolute((one, "tip"), (two, "tip"), start=np.pi - 2.0 * angle),
    ]
    return ev.System(ev.Mechanism(joints, base), loads=[ev.Gravity(gravity)])


@pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")
@pytest.mark.parametrize("cut", [False, True])
def test_a_loop_on_an_accelerating_or_turned_table(cut: bool) -> None:
    """The equivalence principle, and the indifference of space, for loops whose leader is the base."""
    pull = np.array([-3.0, 0.0, 0.0])
    method = ev.GeneralizedAlpha(rho_inf=0.8)

    def motion(base, gravity):
        system = two_rod_loop(base, tuple(gravity), cut)
        return ev.simulate(system, system.rest(), 0.2, 5e-3, method)

    still = motion(ev.Clamped(), pull)
    table = ev.Motion(lambda t: se3.pose(np.eye(3), -0.5 * pull * t**2))
    moving = motion(ev.Driven(table), np.zeros(3))
    g = se3.exp([0.3, -0.2, 0.5, 0.1, 0.2, 0.3])
    turned = motion(ev.Clamped(g), g[:3, :3] @ pull)
    assert np.ptp(still["q"].values, axis=0).max() > 0.05
    for other in (moving, turned):
        np.testing.assert_allclose(other["q"], still["q"], atol=1e-10)
        np.testing.assert_allclose(other["multipliers"], still["multipliers"], atol=1e-8)
