"""One rod of a system as a problem along its length: fields, slopes, ends, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.problem import RodProblem

STEEL = ev.Material(young=207e9, poisson=0.3, density=8000.0)


def arm(**extra):
    basis = extra.pop("basis", ev.Legendre.kirchhoff(4))
    return ev.Rod(0.4, ev.Circle(1e-3), STEEL, basis, **extra)


def tendon(rod, **extra):
    return ev.Tendon(rod, ev.helical(0.02, 1.0), reach=0.02, **extra)


def test_a_system_becomes_fields_along_s():
    rod = arm()
    cable = tendon(rod, end=0.3)
    chamber = ev.Pressure(rod, 1e-6, ev.parallel(y=5e-4), name="chamber")
    muscle = ev.Muscle(rod, torque=(0.0, 0.1, 0.0))
    loads = [
        ev.Gravity(),
        ev.PointWrench(rod, force=(1.0, 2.0, 3.0)),
        ev.PointWrench(rod, moment=(0.1, 0.0, 0.0), frame="section", name="twist"),
        ev.PointWrench(rod, at="base", force=(0.0, 0.0, 5.0), name="foot"),
        ev.DistributedWrench(rod, force=(0.0, 1.0, 0.0), start=0.1),
    ]
    system = ev.System(ev.Mechanism.clamped(rod), [cable, chamber, muscle], loads)
    problem = RodProblem.of(system, {cable: 5.0, chamber: 2e5, muscle: 3.0, "twist": 2.0})
    assert problem.length == 0.4
    assert problem.component == (0, 1, 2)
    assert problem.breaks == (0.1, 0.3)
    np.testing.assert_allclose([pull.tension for pull in problem.tendons], [5.0, -0.2])
    np.testing.assert_allclose(problem.gravity, (0.0, 0.0, -9.81))
    np.testing.assert_allclose(problem.tip_wrench.dead, (0, 0, 0, 1, 2, 3))
    np.testing.assert_allclose(problem.tip_wrench.follower, (0.2, 0, 0, 0, 0, 0))
    np.testing.assert_allclose(problem.base_wrench.dead, (0, 0, 0, 0, 0, 5))
    assert problem.base.is_clamped
    assert problem.tip.name == "free"
    fields = problem.at([0.05, 0.2, 0.35])
    np.testing.assert_allclose(fields.dead[:, 4], (0.0, 1.0, 1.0))
    np.testing.assert_array_equal(fields.here[:, 0], (True, True, False))
    np.testing.assert_allclose(fields.muscle[:, 1], 0.3)
    np.testing.assert_allclose(problem.ramped(0.5).at([0.2]).weight, 0.5 * fields.weight[1:2])


def test_slopes_of_actuation_and_loads_are_exact():
    rod = arm(basis=ev.Legendre.reissner(3))
    cable = tendon(rod)
    loads = [ev.Gravity(), ev.DistributedWrench(rod, force=(1.0, 2.0, 0.5), moment=(0.1, 0.2, 0.3))]
    problem = RodProblem.of(ev.System(ev.Mechanism.clamped(rod), [cable], loads), {cable: 10.0})
    rng = np.random.default_rng(3)
    s = np.array([0.07, 0.21, 0.33])
    xi = np.array([0, 0, 0, 1.0, 0, 0]) + 0.3 * rng.standard_normal((3, 6))
    g = se3.exp(rng.standard_normal((3, 6)))
    stress, slope = problem.actuation(s, xi)
    _, load_slope = problem.body_load(s, g)
    step = 1e-6
    energy = problem.at(s)
    for k in range(6):
        e = step * np.eye(6)[k]
        change = (problem.actuation(s, xi + e)[0] - problem.actuation(s, xi - e)[0]) / (2 * step)
        np.testing.assert_allclose(slope[:, :, k], change, atol=1e-7)
        work = (energy.actuation_energy(xi + e) - energy.actuation_energy(xi - e)) / (2 * step)
        np.testing.assert_allclose(stress[:, k], work, atol=1e-7)
        moved = (problem.body_load(s, g @ se3.exp(e))[0] - problem.body_load(s, g @ se3.exp(-e))[0]) / (2 * step)
        np.testing.assert_allclose(load_slope[:, :, k], moved, atol=1e-8)
    one, one_slope = problem.actuation(s[1], xi[1])
    np.testing.assert_allclose(one, stress[1])
    np.testing.assert_allclose(one_slope, slope[1])


def test_ends_follow_joints_and_holds():
    rod = arm()
    R = so3.exp(np.array([0.1, 0.2, 0.3]))
    free = ev.Mechanism.free(
        rod,
        holds=[
            ev.Hold("base", position=(0.0, 0.1, 0.0), name="pin"),
            ev.Hold("base", orientation=R, orientation_axes="x", name="key"),
            ev.Hold("tip", position=(None, 0.2, 0.3), name="groove"),
        ],
    )
    problem = RodProblem.of(ev.System(free))
    assert (problem.base.rotation_axes, problem.base.position_axes) == ((0,), (0, 1, 2))
    np.testing.assert_allclose(problem.base.pose, se3.pose(R, (0.0, 0.1, 0.0)))
    assert (problem.tip.held, problem.tip.position_axes) == (2, (1, 2))
    ring = ev.Mechanism([ev.Fixed("world", (rod, "base")), ev.Fixed((rod, "tip"), (rod, "base"), name="weld")])
    closed = RodProblem.of(ev.System(ring))
    assert closed.closed
    assert closed.tip.is_clamped
    np.testing.assert_allclose(closed.tip.pose, np.eye(4))


def test_what_does_not_fit_is_refused():
    rod, other = arm(), arm(name="other")
    two = ev.Mechanism([ev.Fixed("world", (rod, "base")), ev.Fixed((rod, "tip"), (other, "base"))])
    with pytest.raises(ev.BadInput, match="2 rods and 0 rigid bodies"):
        RodProblem.of(ev.System(two))
    clamped = ev.Mechanism.clamped(rod)
    with pytest.raises(ev.BadInput, match=r"s = 0.2 m, inside the rod"):
        RodProblem.of(ev.System(clamped, loads=[ev.PointWrench(rod, at=0.2, force=(0, 0, 1))]))
    with pytest.raises(ev.BadInput, match="inside the rod"):
        RodProblem.of(ev.System(ev.Mechanism.clamped(rod, holds=[ev.Hold(0.2, position=(0.2, 0, 0))])))
    spool = ev.SpooledTendon(rod, ev.parallel(y=5e-4))
    with pytest.raises(ev.BadInput, match="SpooledTendon"):
        RodProblem.of(ev.System(clamped, [spool]))
    with pytest.raises(ev.BadInput, match="Morison"):
        RodProblem.of(
            ev.System(
                clamped, loads=[ev.Morison(fluid_density=1000.0, drag=(0.1, 1.0, 1.0, 0.0), added_mass=(1.0, 1.0, 0.0))]
            )
        )
    twice = [ev.Hold("tip", position=(0.3, 0, 0), name="a"), ev.Hold("tip", position=(0.3, 0, None), name="b")]
    with pytest.raises(ev.BadInput, match="held 5 times"):
        RodProblem.of(ev.System(ev.Mechanism.clamped(rod, holds=twice)))
