"""The tangent is the derivative of the residual: against differences, and by the order of the remainder."""

from __future__ import annotations

import numpy as np
import pytest

LOADS = (
    "gravity",
    "dead tip wrench",
    "dead wrench inside",
    "follower",
    "distributed",
    "distributed follower",
    "tendon",
    "short tendon",
    "pressure",
    "muscle",
    "spool",
    "hold tip",
    "hold inside",
)
# Truncation of the five-point formula at step 2e-3, whose rounding is below 1e-12.
DIFFERENCES = 1e-8


def by_differences(robot, weights, step=2e-3):
    """Five-point central differences in every unknown, (unknowns, unknowns)."""
    size = robot.core.coordinates + robot.core.rows
    columns = []
    for direction in np.eye(size):
        f = [robot.moved(direction, weights, k * step) for k in (-2, -1, 1, 2)]
        columns.append((f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * step))
    return np.array(columns).T


def worst_block(robot, matrix, expected):
    """Largest difference, relative to its block: base, curvatures, stretches, multipliers."""
    core = robot.core
    kinds = np.concatenate(
        [
            np.zeros(core.coordinates - core.n, dtype=int),
            np.where(core.system.rod.component < 3, 1, 2),
            np.full(core.rows, 3),
        ]
    )
    worst, largest = 0.0, np.abs(expected).max()
    for i in range(4):
        for k in range(4):
            block = np.ix_(kinds == i, kinds == k)
            if expected[block].size and np.abs(expected[block]).max() > 1e-9 * largest:
                difference = np.abs(matrix[block] - expected[block]).max()
                worst = max(worst, difference / np.abs(expected[block]).max())
    return worst


def check(robot):
    for weights in np.eye(3):
        matrix = robot.core.tangent(robot.arrays, robot.inputs, tuple(weights))
        assert worst_block(robot, matrix, by_differences(robot, weights)) <= DIFFERENCES


@pytest.mark.parametrize("part", LOADS)
def test_each_load_actuator_and_hold_alone(robot, part):
    check(robot("legendre reissner", foundation="free", chosen=(part,), seed=3))


@pytest.mark.parametrize("foundation", ["clamped", "free", "driven"])
def test_everything_at_once(robot, foundation):
    check(robot("legendre extensible", foundation=foundation, seed=4))


@pytest.mark.parametrize("scheme", ["magnus 4", "magnus 6", "rkmk"])
@pytest.mark.parametrize("basis", ["legendre odd set", "piecewise linear", "sampled"])
def test_other_bases_and_schemes(robot, basis, scheme):
    check(robot(basis, scheme=scheme, foundation="free", chosen=("gravity", "tendon"), rest="varied", seed=5))


def test_holds_near_half_a_turn(robot):
    """Θ of 0.98 π between section and target: coefficients of T⁻¹ are large there, and still exact."""
    from elver.lie import so3

    r = robot("legendre kirchhoff", foundation="free", chosen=("gravity", "hold tip"), seed=6)
    R_tip = r.core.residual(r.arrays, r.inputs)  # leaves the pose of the tip in the work space
    assert np.all(np.isfinite(R_tip))
    tip = r.core.work.pose[-1, :3]
    pose = r.core.program.closure_pose.copy()
    pose[0, 0, :3] = tip @ so3.exp(0.98 * np.pi * np.array([0.6, -0.48, 0.64]))
    r.core._take(r.core.program._replace(closure_pose=pose))
    check(r)


def test_remainder_is_of_second_order(robot, rng):
    """|R(x + h d) - R(x) - h A d| falls as h²."""
    r = robot("legendre extensible", foundation="free", seed=8)
    weights = np.array([1.0, 0.6, 1.4])
    direction = rng.standard_normal(r.core.coordinates + r.core.rows)
    slope = r.core.tangent(r.arrays, r.inputs, tuple(weights)) @ direction
    start = r.moved(direction, weights, 0.0)
    steps = 1e-2 / 2.0 ** np.arange(6)
    remainder = [np.linalg.norm(r.moved(direction, weights, h) - start - h * slope) for h in steps]
    order = np.polyfit(np.log(steps), np.log(remainder), 1)[0]
    assert order == pytest.approx(2.0, abs=0.05)


def test_closure_blocks_are_transposes(robot):
    """J below and Jᵀ beside: the same numbers for coordinates and, in body variations, for the base."""
    r = robot("legendre extensible", foundation="free", seed=9)
    c = r.core.coordinates
    matrix = r.core.tangent(r.arrays, r.inputs, (1.0, 0.0, 0.0))
    assert np.abs(matrix[:c, c:] - matrix[c:, :c].T).max() <= 1e-13 * np.abs(matrix[c:, :c]).max()
    assert not matrix[c:, c:].any()
