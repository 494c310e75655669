"""Second variation of the direct methods against known instabilities: twist, rings, natural curvature, columns.

Blumentals 2017, section 6.5 (natural curvature), with the classical loads of Greenhill and Michell.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.problem import End, EndWrench, RodProblem
from elver.one_rod.transcription.direct import Constraint, direct_equilibrium

SPATIAL = (0, 1, 2)
GAMMA = 0.7


def straight(s):
    return np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (len(s), 1))


def unit_rod(component, **changes):
    return RodProblem(
        1.0,
        component,
        lambda s: np.tile([GAMMA, 1.0, 1.0, 1e3, 1e3, 1e3], (len(s), 1)),
        straight,
        lambda s: np.ones((len(s), 6)),
        **changes,
    )


def test_twist_buckling_of_greenhill():
    """Clamped, one end free to slide: M L/EI = 8.9868 = 2·4.4934."""

    def eigenvalue(moment):
        angle = moment / GAMMA
        tip = End(se3.pose(so3.exp([angle, 0.0, 0.0]), [1.0, 0.0, 0.0]), (0, 1, 2), (1, 2))
        twisted = lambda s: np.tile([angle, 0.0, 0.0, 1.0, 0.0, 0.0], (len(s), 1))  # noqa: E731
        return direct_equilibrium(unit_rod(SPATIAL, tip=tip), elements=100, guess=twisted, seek="stationary").eigenvalue

    assert brentq(eigenvalue, 8.9, 9.1, xtol=1e-6) == pytest.approx(8.98682, rel=1e-4)


def test_euler_load_of_a_column_clamped_at_both_ends():
    """The tip slides along x; the straight shape is a saddle above 4π²."""

    def eigenvalue(force):
        push = EndWrench(np.array([0.0, 0.0, 0.0, -force, 0.0, 0.0]), np.zeros(6))
        tip = End(se3.pose(np.eye(3), [1.0, 0.0, 0.0]), (0, 1, 2), (1, 2))
        problem = unit_rod((2,), tip=tip, tip_wrench=push)
        return direct_equilibrium(problem, elements=100, guess=straight, seek="stationary").eigenvalue

    assert brentq(eigenvalue, 38.0, 41.0, xtol=1e-6) == pytest.approx(4.0 * np.pi**2, rel=1e-4)


def test_ring_of_michell():
    """A ring whose end is turned by 2πn about its tangent stays flat while γ n < √3."""

    def eigenvalue(n):
        turn = 2.0 * np.pi * n
        circle = lambda s: np.stack(  # noqa: E731
            [0 * s + turn, 2 * np.pi * np.sin(turn * s), 2 * np.pi * np.cos(turn * s), 0 * s + 1, 0 * s, 0 * s], axis=1
        )
        tip = End.clamped(se3.pose(so3.exp([turn, 0.0, 0.0]), np.zeros(3)))
        return direct_equilibrium(unit_rod(SPATIAL, tip=tip), elements=100, guess=circle, seek="stationary").eigenvalue

    assert eigenvalue(2.45) == pytest.approx(0.0, abs=1e-6)  # only the spin about the clamp, which nothing resists
    a, b = (2.49, 2.52)
    low, high = eigenvalue(a), eigenvalue(b)
    assert high < low < 0.0
    assert a - low * (b - a) / (high - low) == pytest.approx(np.sqrt(3.0) / GAMMA, rel=1e-3)


# Natural curvature under gravity: 3.8 Q1 ------------------------------------------------------------------

RADIUS = 1.5e-3
EI = 1.3e6 * np.pi * RADIUS**4 / 4.0
WEIGHT = 1200.0 * np.pi * RADIUS**2


def curled(curvature, component=SPATIAL):
    """Clamped along x, curled by ``curvature`` [1/m] in the horizontal plane's normal direction K_y."""
    return RodProblem(
        0.3,
        component,
        lambda s: np.tile([EI / 1.5, EI, EI, 1.0, 1.0, 1.0], (len(s), 1)),
        lambda s: np.tile([0.0, curvature, 0.0, 1.0, 0.0, 0.0], (len(s), 1)),
        lambda s: np.tile([0.0, 0.0, 0.0, WEIGHT, WEIGHT, WEIGHT], (len(s), 1)),
        gravity=np.array([0.0, 0.0, -9.81]),
    )


@pytest.mark.parametrize(("elements", "critical"), [(25, 40.679), (50, 40.688)])
def test_the_planar_branch_loses_stability(elements, critical):
    def eigenvalue(curvature):
        flat = direct_equilibrium(curled(curvature, (1,)), elements=elements, strain="constant")
        problem = curled(curvature)
        return direct_equilibrium(
            problem, elements=elements, strain="constant", guess=flat, seek="stationary"
        ).eigenvalue

    assert brentq(eigenvalue, 40.0, 41.5, xtol=1e-3) == pytest.approx(critical, abs=5e-3)


def test_twist_of_the_curling_rod():
    """|Twist| in turns along the sweep, warm starts, a little noise to leave the plane."""
    published = {
        40.75: 0.064,
        41.0: 0.143,
        42.0: 0.291,
        50.0: 0.754,
        60.0: 1.089,
        70.0: 1.254,
        80.0: 1.313,
        90.0: 1.313,
    }
    solution = direct_equilibrium(curled(40.5), elements=50, strain="constant")
    for curvature, turns in published.items():
        last = solution
        noisy = lambda s, last=last: (  # noqa: E731
            last.strain(s) + np.outer(0.1 * np.sin(10.0 * s + 0.5), [1.0, 0.3, 1.0, 0, 0, 0])
        )
        solution = direct_equilibrium(curled(curvature), elements=50, strain="constant", guess=noisy)
        twist = np.sum(solution.elements[:, 0, 0] * np.diff(solution.s)) / (2.0 * np.pi)
        assert abs(twist) == pytest.approx(turns, abs=1e-3)  # printed digits
        assert solution.stable


def test_the_search_without_a_guess_ends_in_a_minimum():
    assert direct_equilibrium(curled(60.0), elements=30, strain="constant").stable


def test_inequalities_have_no_stationary_search():
    wall = Constraint(lambda s, p, R, xi: p[1], lower=-1.0, upper=1.0, name="walls")
    with pytest.raises(ev.BadInput, match="walls"):
        direct_equilibrium(unit_rod((2,)), constraints=[wall], seek="stationary")
