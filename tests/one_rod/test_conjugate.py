"""Conjugate points: Euler's loads of columns, Morse indices, idle motions, and what has no potential."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.lie import se3
from elver.one_rod.problem import End, EndWrench, RodProblem
from elver.one_rod.shooting.conjugate import conjugate_points
from elver.one_rod.shooting.statics import solve_rod

STRAIGHT = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
CLAMPED = End.clamped()
SLIDING_CLAMP = End(np.eye(4), (0, 1, 2), (1, 2))
SLIDING_PIN = End(np.eye(4), (0,), (1, 2))
PIN = End(np.eye(4), (0,), (0, 1, 2))


def column(load=0.0, component=(0, 1, 2), base=CLAMPED, tip=None, gravity=0.0, EI_y=1.0):
    """Length 1, EI_z 1, EI_y 1, GJ 0.7, pressed along the axis by a dead load."""
    H = np.array([0.7, EI_y, 1.0, 1e6, 1e6, 1e6])
    return RodProblem(
        length=1.0,
        component=component,
        stiffness=lambda s: np.tile(H, (s.size, 1)),
        rest_strain=lambda s: np.tile(STRAIGHT, (s.size, 1)),
        inertia=lambda s: np.ones((s.size, 6)),
        gravity=np.array([-gravity, 0.0, 0.0]),
        base=base,
        tip=tip or End(),
        tip_wrench=EndWrench(np.array([0.0, 0.0, 0.0, -load, 0.0, 0.0]), np.zeros(6)),
    )


def wave(n):
    """Curvature of n waves between clamps, shortened by about a fifth."""

    def guess(s):
        xi = np.tile(STRAIGHT, (s.size, 1))
        xi[:, 2] = 5.6 * n * np.cos(2.0 * np.pi * n * s)
        return xi

    return guess


def half_wave(s):
    xi = np.tile(STRAIGHT, (s.size, 1))
    xi[:, 2] = 3.0 * np.sin(np.pi * s)
    return xi


def verdict(problem, sweep=None):
    return conjugate_points(solve_rod(problem, guess=STRAIGHT, accuracy=None), sweep)


def critical(low, high, make, sweep=None):
    """Load at which the first unstable motion appears, by bisection to 1e-4."""
    assert verdict(make(low), sweep).index == 0
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        if verdict(make(middle), sweep).index:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


EULER = [
    ("clamped-free", CLAMPED, End(), 0.25 * np.pi**2),
    ("clamped-clamped", CLAMPED, SLIDING_CLAMP, 4.0 * np.pi**2),
    ("clamped-pinned", CLAMPED, SLIDING_PIN, 20.190729),
    ("pinned-pinned", PIN, SLIDING_PIN, np.pi**2),
]


@pytest.mark.parametrize(("name", "base", "tip", "load"), EULER, ids=[row[0] for row in EULER])
def test_a_conjugate_point_enters_at_the_load_of_euler(name, base, tip, load):
    def make(P):
        return column(P, component=(0, 1, 2), base=base, tip=tip, EI_y=2.0)

    assert critical(0.6 * load, 1.4 * load, make) == pytest.approx(load, rel=1e-3)


def test_a_heavy_column_buckles_at_the_length_of_greenhill():
    found = critical(6.0, 9.0, lambda w: column(gravity=w, component=(2,)))
    assert found == pytest.approx(7.8373, rel=1e-3)


@pytest.mark.parametrize(("component", "planes"), [((2,), 1), ((0, 1, 2), 2)], ids=["planar", "spatial"])
def test_each_euler_load_adds_one_motion_per_plane(component, planes):
    for n in range(4):
        P = 0.25 * np.pi**2 * (2 * n) ** 2 + 1.0  # between the loads of (2n-1) and (2n+1) quarter waves
        for sweep in ("base", "tip"):
            found = verdict(column(P, component), sweep)
            assert found.index == n * planes
            assert found.stable == (n == 0)
    # swept from the free tip, the points are where a shorter column would just stand
    root = np.sqrt(P)
    exact = [1.0 - (k + 0.5) * np.pi / root for k in range(n) for _ in range(planes)]
    np.testing.assert_allclose(found.points, exact, atol=2e-5)


def test_the_map_of_clamped_ends_loses_rank_at_the_conjugate_point():
    found = verdict(column(50.0, (2,), tip=SLIDING_CLAMP), "base")
    assert found.sweep == "base"
    assert found.index == 1
    assert found.first == pytest.approx(2.0 * np.pi / np.sqrt(50.0), abs=1e-5)


def test_a_buckled_rod_between_clamps():
    # the first planar mode is stable in its plane; the second is not
    tip = End.clamped(se3.pose(np.eye(3), (0.8, 0.0, 0.0)))

    for n in (1, 2):
        found = solve_rod(column(component=(2,), tip=tip), guess=wave(n))
        result = conjugate_points(found)
        assert (result.index > 0) == (n == 2)
        assert result.stable == (n == 1)


def test_tendons_stiffen_the_section():
    rod = ev.Rod(0.4, ev.Circle(1e-3), ev.Material(young=207e9, poisson=0.3, density=8000.0), ev.Legendre.kirchhoff(6))
    tendon = ev.Tendon(rod, ev.helical(0.02, 1.0), reach=0.02)
    system = ev.System(ev.Mechanism.clamped(rod), [tendon], [ev.Gravity((9.81, 0.0, 0.0))])
    found = conjugate_points(solve_rod(system, {tendon: 30.0}))
    assert found.stable
    assert found.legendre >= 1.0 - 1e-12


@pytest.mark.parametrize(("EI_y", "index", "neutral"), [(1.001, 0, False), (1.0, 0, True), (0.999, 1, False)])
def test_a_buckled_rod_turns_toward_its_softer_side(EI_y, index, neutral):
    """Bent about z between clamps on one axis; a rod as soft about y turns about that axis against no resistance."""
    tip = End.clamped(se3.pose(np.eye(3), (0.8, 0.0, 0.0)))
    found = conjugate_points(solve_rod(column(tip=tip, EI_y=EI_y), guess=wave(1)))
    assert (found.index, found.neutral) == (index, neutral)
    assert found.stable == (EI_y > 1.0)


def test_a_pinned_rod_that_may_spin_has_one_idle_motion():
    """Also where the spin is left to the ball joints: it is no descent."""
    tip = End(se3.pose(np.eye(3), (0.8, 0.0, 0.0)), (), (0, 1, 2))
    for base in (PIN, End(np.eye(4), (), (0, 1, 2))):
        found = conjugate_points(solve_rod(column(base=base, tip=tip, component=(0, 1, 2)), guess=half_wave))
        assert (found.index, found.neutral, found.stable) == (0, True, False)


def test_loads_without_potential_are_refused():
    problem = column().with_(tip_wrench=EndWrench(np.zeros(6), np.array([0.0, 0.0, 0.0, -1.0, 0.2, 0.0])))
    with pytest.raises(ev.BadInput, match="no potential"):
        conjugate_points(solve_rod(problem))
