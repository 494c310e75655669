"""Parity: the compiled kernels and their readable twin give the same numbers on every kind of robot."""

from __future__ import annotations

import numpy as np
import pytest

from elver.kernels.build.entry import evaluate_tangent
from elver.kernels.build.tables import robot_of
from elver.kernels.tree.evaluate import evaluate_residual
from elver.kernels.tree.program import laws_of, with_matrix, work_for
from elver.kernels.twin.tree import twin_residual, twin_tangent

# Rounding of two different orders of summation.
RESIDUAL, TANGENT = 1e-12, 1e-10
MIXED = np.array([1.0, 0.7, 1.3])

BASES = (
    "legendre planar",
    "legendre kirchhoff",
    "legendre extensible",
    "legendre reissner",
    "legendre odd set",
    "chebyshev reissner",
    "chebyshev kirchhoff",
    "piecewise constant",
    "piecewise linear",
    "sampled",
)


def compare(robot, weights=MIXED):
    """Relative difference of residual and tangent, each against its largest entry."""
    core, a, u = robot.core, robot.arrays, robot.inputs
    R = core.residual(a, u)
    matrix = core.tangent(a, u, tuple(weights))
    R_twin = twin_residual(core.program, a.base, a.twist, a.q, a.multipliers, u)
    twin = twin_tangent(core.program, a.base, a.twist, a.q, a.multipliers, u, weights)
    c = core.coordinates
    blocks = [(slice(0, c), slice(0, c)), (slice(0, c), slice(c, None)), (slice(c, None), slice(0, None))]
    worst = max(np.abs(matrix[b] - twin[b]).max() / np.abs(twin[b]).max() for b in blocks if twin[b].any())
    assert all(not matrix[b].any() for b in blocks if not twin[b].any())
    return np.abs(R - R_twin).max() / np.abs(R_twin).max(), worst


@pytest.mark.parametrize(("seed", "basis"), list(enumerate(BASES)))
def test_all_bases_with_everything_that_acts(robot, seed, basis):
    scheme = ("magnus 6", "magnus 4", "rkmk")[seed % 3]
    foundation = ("free", "clamped", "driven")[seed % 3 if seed != 3 else 0]
    section = ("tapered circle", "rectangle", "circle")[(seed // 2) % 3]
    rest = ("curved", "varied", "straight")[(seed // 3) % 3]
    residual, tangent = compare(robot(basis, section, rest, scheme, foundation, seed=seed))
    assert residual <= RESIDUAL
    assert tangent <= TANGENT


@pytest.mark.parametrize("foundation", ["clamped", "free", "driven"])
@pytest.mark.parametrize("scheme", ["magnus 4", "magnus 6", "rkmk"])
def test_all_schemes_on_all_foundations(robot, scheme, foundation):
    chosen = ("gravity", "follower", "hold tip")
    r = robot("legendre extensible", scheme=scheme, foundation=foundation, chosen=chosen)
    residual, tangent = compare(r)
    assert residual <= RESIDUAL
    assert tangent <= TANGENT


@pytest.mark.parametrize("weights", np.eye(3))
def test_each_block_of_the_tangent_by_itself(robot, weights):
    assert compare(robot("legendre reissner", foundation="free"), weights)[1] <= TANGENT


def test_statics_is_dynamics_at_rest(robot):
    """With one jet the kernels leave rates out, whatever they are."""
    r = robot("legendre extensible", foundation="free")
    core, a, u = r.core, r.arrays, r.inputs
    R = core.residual(a, u, jets=1) - np.concatenate(
        [np.zeros(6), laws_of(core.program)[1] @ a.q[1], np.zeros(core.rows)]
    )
    matrix = core.tangent(a, u, (1.0, 0.0, 0.0), jets=1)
    a.q[1:] = 0.0
    a.twist[:] = 0.0
    R_twin = twin_residual(core.program, a.base, a.twist, a.q, a.multipliers, u)
    twin = twin_tangent(core.program, a.base, a.twist, a.q, a.multipliers, u, np.array([1.0, 0.0, 0.0]))
    assert np.abs(R - R_twin).max() <= RESIDUAL * np.abs(R_twin).max()
    assert np.abs(matrix - twin).max() <= TANGENT * np.abs(twin).max()


def test_redundant_rows_ask_for_a_zero_multiplier(robot):
    r = robot(foundation="free", chosen=("gravity", "hold tip"))
    axes = r.core.program.row_axes.copy()
    axes[2] = 0.0
    program, a, u = r.core.program._replace(row_axes=axes), r.arrays, r.inputs
    (program, work), columns = with_matrix(program, work_for(program)), np.zeros((18, 6))
    columns[:6] = np.eye(6)
    weights = np.array([1.0, 0.0, 0.0])
    at = robot_of(program, work)
    evaluate_residual(at, a.base, a.twist, a.q, a.multipliers, u, 3)
    evaluate_tangent(at, a.base, a.q, a.multipliers, u, columns, weights, 3)
    row = r.core.coordinates + 2
    assert work.residual[row] == a.multipliers[2]
    np.testing.assert_array_equal(work.matrix[row], np.eye(work.matrix.shape[0])[row])
    twin = twin_tangent(program, a.base, a.twist, a.q, a.multipliers, u, weights)
    assert np.abs(work.matrix - twin).max() <= TANGENT * np.abs(twin).max()
    R_twin = twin_residual(program, a.base, a.twist, a.q, a.multipliers, u)
    assert np.abs(work.residual - R_twin).max() <= RESIDUAL * np.abs(R_twin).max()
