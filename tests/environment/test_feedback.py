"""Feedback: the wrench of a function, its tangent, and refusals."""

import numpy as np
import pytest

from elver.bodies import RigidBody
from elver.environment import Feedback
from elver.errors import BadInput
from elver.lie import se3, so3
from elver.rods import Circle, Legendre, Material, Rod

DRONE = RigidBody.box((0.2, 0.2, 0.05), mass=0.5, name="drone")
ROD = Rod(0.4, Circle(8e-3), Material(1e6, 1070.0, poisson=0.45), Legendre.planar(2), name="arm")
G = se3.exp((0.3, -0.2, 0.5, 0.1, 0.4, -0.3))
ETA = np.array([0.5, -0.1, 0.2, 20.0, 0.3, -0.4])


def pull(t, g):
    """A spring towards a moving goal, in world axes."""
    return 3.0 * (np.array([0.2 + t, 0.1, 0.5]) - g[:3, 3])


def hover(t, g, eta):
    """The pull in body axes, with drag that grows with the square of the speed."""
    force = g[:3, :3].T @ pull(t, g) - np.linalg.norm(eta[3:]) * eta[3:]
    return np.concatenate([-0.2 * eta[:3], force])


def hover_tangent(t, g, eta):
    """δ(Rᵀ a) = (Rᵀ a)^ ζ_ω and δp = R ζ_v."""
    R, v = g[:3, :3], eta[3:]
    tangent = np.zeros((6, 12))
    tangent[3:, :3] = so3.hat(R.T @ pull(t, g))
    tangent[3:, 3:6] = -3.0 * np.eye(3)
    tangent[:3, 6:9] = -0.2 * np.eye(3)
    tangent[3:, 9:] = -np.linalg.norm(v) * np.eye(3) - np.outer(v, v) / np.linalg.norm(v)
    return tangent


def test_differences_agree_with_the_tangent_given():
    """Within 1e-9 of the wrench of 400 N: rounding over the step."""
    wrench, by_differences = Feedback(DRONE, hover).evaluate(0.7, G, ETA)
    again, given = Feedback(DRONE, hover, hover_tangent).evaluate(0.7, G, ETA)
    assert np.array_equal(wrench, hover(0.7, G, ETA))
    assert np.array_equal(again, wrench)
    assert np.array_equal(given, hover_tangent(0.7, G, ETA))
    assert by_differences == pytest.approx(given, abs=1e-9 * np.abs(wrench).max())


def test_the_tangent_predicts_small_changes():
    """Remainder of order two in the size of the variation."""
    feedback = Feedback(DRONE, hover)
    wrench, tangent = feedback.evaluate(0.0, G, ETA)
    direction = np.linspace(-1.0, 1.0, 12)
    remainders = []
    for size in (1e-2, 5e-3):
        moved = hover(0.0, G @ se3.exp(size * direction[:6]), ETA + size * direction[6:])
        remainders.append(np.linalg.norm(moved - wrench - size * tangent @ direction))
    assert np.log2(remainders[0] / remainders[1]) == pytest.approx(2.0, abs=0.1)


def test_a_function_that_works_in_place_moves_nothing():
    def careless(t, g, eta):
        g[:] = 0.0
        eta *= 2.0
        return eta

    g, eta = G.copy(), ETA.copy()
    wrench, tangent = Feedback(DRONE, careless).evaluate(0.0, g, eta)
    assert np.array_equal(g, G)
    assert np.array_equal(eta, ETA)
    assert np.array_equal(wrench, 2.0 * ETA)
    assert tangent == pytest.approx(np.hstack([np.zeros((6, 6)), 2.0 * np.eye(6)]), abs=1e-9)


def test_feedback_acts_on_a_body_or_a_section():
    on_body, on_rod = Feedback(DRONE, hover), Feedback((ROD, 0.1), hover, name="brake")
    assert (on_body.name, on_rod.name) == ("drone-feedback", "brake")
    assert on_body.frame.part is DRONE
    assert on_rod.frame.s == 0.1
    assert on_body in {on_body}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Feedback(DRONE, (0, 0, 0, 0, 0, 1)),
            r"feedback 'drone-feedback': wrench is a tuple; give a callable \(t, g, eta\) -> \(6,\) in N m and N",
        ),
        (
            lambda: Feedback(DRONE, hover, np.zeros((6, 12))),
            r"tangent is a ndarray; give a callable \(t, g, eta\) -> \(6, 12\), or leave it out for differences",
        ),
        (
            lambda: Feedback((DRONE, (0.1, 0.0, 0.0)), hover),
            r"feedback: the frame on drone has an offset; give the body or section itself, or fix a massless body",
        ),
        (lambda: Feedback("world", hover, name="pd"), r"feedback 'pd': acts on the world, which does not move"),
        (lambda: Feedback(DRONE, hover, name="a/b"), r"feedback name = 'a/b': give a non-empty text"),
        (
            lambda: Feedback(DRONE, lambda t, g, eta: np.zeros(3)).evaluate(0.5, G, ETA),
            r"wrench of 'drone-feedback' at t = 0.5 s has shape \(3,\): expected \(6,\) in N m and N",
        ),
        (
            lambda: Feedback(DRONE, lambda t, g, eta: np.full(6, np.nan)).evaluate(0.5, G, ETA),
            r"wrench of 'drone-feedback' at t = 0.5 s contains nan \(N m and N\)",
        ),
        (
            lambda: Feedback(DRONE, lambda t, g, eta: None).evaluate(0.5, G, ETA),
            r"wrench of 'drone-feedback' at t = 0.5 s has shape \(\)",
        ),
        (
            lambda: Feedback(DRONE, hover, lambda t, g, eta: np.zeros((6, 6))).evaluate(0.5, G, ETA),
            r"tangent of 'drone-feedback' at t = 0.5 s has shape \(6, 6\): expected \(6, 12\)",
        ),
        (
            lambda: Feedback(DRONE, hover, lambda t, g, eta: np.full((6, 12), np.inf)).evaluate(0.5, G, ETA),
            r"tangent of 'drone-feedback' at t = 0.5 s contains inf",
        ),
    ],
)
def test_bad_feedback_is_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
