"""The one Newton of all solvers, as plain Python on problems whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import Core
from elver.integrators.method import Method
from elver.kernels.build import entry
from elver.kernels.build.calls import Calls
from elver.kernels.build.plain import as_python
from elver.kernels.march.memory import (
    BY_RESIDUAL,
    LONGEST,
    MATRIX_STEP,
    MOST,
    PATIENCE,
    STEP,
    TOLERANCE,
    UNIT,
    Iteration,
    Scratch,
    iteration_for,
    place_for,
    track_for,
    trial_for,
)
from elver.kernels.march.newton import newton

Function = Callable[[np.ndarray], np.ndarray]


class Problem:
    """f(x) = 0 with its Jacobian, and how often each was asked for."""

    def __init__(self, f: Function, slope: Function, x: list[float], **control: float) -> None:
        self.f, self.slope, self.residuals, self.tangents = f, slope, 0, 0
        n = len(x)
        it = iteration_for(n, 1)._replace(history=np.full(50, np.nan))
        it.x[0] = x
        it.control[[TOLERANCE, MOST, LONGEST, STEP, UNIT]] = 1e-12, 25, 10.0, 0.1, 1.0
        for name, value in control.items():
            it.control[{"by_residual": BY_RESIDUAL, "longest": LONGEST, "patience": PATIENCE}[name]] = value
        self.scratch = Scratch(it, trial_for(n, n, 0, np.ones(n), it.x), place_for(n, 0))
        self.matrix = np.eye(n)

    @property
    def it(self) -> Iteration:
        """What Newton works with."""
        return self.scratch.iteration

    def solve(self) -> int:
        """Newton with this problem."""
        calls = Calls(0, 0, 0, 0, 0, 0, 0, self._residual, self._tangent, self._increment)
        return as_python(newton)(None, (calls, self.it, self.scratch.trial, self.scratch.place, track_for(1, 0)))

    def _residual(self, *_: object) -> float:
        self.residuals += 1
        self.it.residual[:] = self.f(self.it.x[0])
        return float(np.max(np.abs(self.it.residual)))

    def _tangent(self, *_: object) -> float:
        self.tangents += 1
        self.matrix = self.slope(self.it.x[0])
        return abs(float(np.linalg.det(self.matrix)))

    def _increment(self, *_: object) -> float:
        self.it.step[:] = np.linalg.solve(self.matrix, self.it.step)
        return 0.0


def square(x: np.ndarray) -> np.ndarray:
    """x² = 2."""
    return x * x - 2.0


def square_slope(x: np.ndarray) -> np.ndarray:
    """2x."""
    return np.diag(2.0 * x)


@pytest.mark.parametrize("by_residual", [0.0, 1.0])
def test_it_finds_a_root_to_its_tolerance(by_residual: float) -> None:
    problem = Problem(square, square_slope, [1.0, -3.0], by_residual=by_residual)
    assert problem.solve() > 0
    np.testing.assert_allclose(problem.it.x[0], [np.sqrt(2.0), -np.sqrt(2.0)], atol=1e-12)


def test_at_rest_each_iteration_has_a_new_matrix_and_the_norms_are_kept() -> None:
    problem = Problem(square, square_slope, [1.0], by_residual=1.0)
    count = problem.solve()
    assert problem.tangents == count
    norms = problem.it.history[: count + 1]
    assert norms[0] == 1.0
    assert norms[-1] < 1e-12 <= norms[-2]
    assert np.isnan(problem.it.history[count + 1 :]).all()


def test_a_matrix_that_contracts_is_kept_from_step_to_step() -> None:
    """A linear problem needs no further matrix, whatever follows; another length of the step asks for a new one."""
    A = np.array([[2.0, 1.0], [0.0, 3.0]])
    right = np.array([1.0, 1.0])
    problem = Problem(lambda x: A @ x - right, lambda x: A, [0.0, 0.0])
    problem.solve()
    first = problem.tangents
    for k in range(3):
        right = np.array([1.0, float(k)])
        assert problem.solve() > 0
        np.testing.assert_allclose(problem.it.x[0], np.linalg.solve(A, right), rtol=1e-14)
    assert problem.tangents == first
    problem.it.control[STEP] = 0.05
    problem.solve()
    assert problem.tangents == first + 1


def test_a_matrix_that_serves_no_more_is_replaced() -> None:
    problem = Problem(square, square_slope, [1.4])
    problem.solve()
    before = problem.tangents
    problem.it.memory[MATRIX_STEP] = 0.1  # as if it were still good, far from where it was taken
    problem.it.x[0] = 100.0
    assert problem.solve() > 0
    assert problem.it.x[0, 0] == pytest.approx(np.sqrt(2.0), abs=1e-12)
    assert problem.tangents > before


def test_increments_are_limited_in_length() -> None:
    """tan⁻¹ sends Newton away from where it is flat; short steps come home."""

    def slope(x: np.ndarray) -> np.ndarray:
        return np.diag(1.0 / (1.0 + x * x))

    assert Problem(np.arctan, slope, [3.0], longest=1e9).solve() < 0
    near = Problem(np.arctan, slope, [3.0], longest=1.0)
    assert near.solve() > 0
    assert abs(near.it.x[0, 0]) < 1e-12


def test_it_is_given_up_where_nothing_shrinks() -> None:
    """x² + 1 has no root: iterates wander. With patience the end comes after the first ten that did not halve them."""
    patient = Problem(lambda x: x * x + 1.0, square_slope, [0.7])
    assert patient.solve() == -1
    assert patient.residuals == 25
    short = Problem(lambda x: x * x + 1.0, square_slope, [0.7], patience=5.0)
    assert short.solve() == -1
    assert short.residuals < 25
    assert short.it.memory[MATRIX_STEP] == -1.0  # nothing is kept of it


def test_what_is_singular_or_broken_says_so() -> None:
    assert Problem(square, lambda x: np.zeros((1, 1)), [1.0]).solve() == -2
    assert Problem(lambda x: x * np.nan, square_slope, [1.0], by_residual=1.0).solve() == -3


METHODS = ev.GeneralizedAlpha(rho_inf=0.6), ev.ImplicitMidpoint(), ev.GaussLegendre4()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_compiled_solvers_are_their_plain_python(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same source as machine code and as Python, for an equilibrium and a few steps of a thrown rod: rounding."""
    material = ev.Material(young=1e6, poisson=0.45, density=1070.0)
    rod = ev.Rod(0.4, ev.Circle(8e-3), material, ev.Legendre.kirchhoff(2), name="rod")
    held, free = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()]), ev.System(ev.Mechanism.free(rod))
    thrown = free.rest().with_(eta=np.array([1.0, 2.0, 0.5, 0.1, 0.2, 0.3]), q_dot=np.ones(free.n))

    def both() -> list[np.ndarray]:
        run = ev.simulate(free, thrown, 0.02, 5e-3, method)
        return [ev.equilibrium(held).state.q, run["q"].values, run["rod/position"].values]

    wanted = both()

    def solve(self: Core, scheme: str, *arguments: Any) -> int:
        of_robot = entry.evaluate_residual, entry.evaluate_frames, entry.evaluate_matrix
        here = tuple((lambda robot, *more, call=call: call(self.robot, *more)) for call in of_robot)
        return self.solve_in_python(scheme, here, *arguments)

    monkeypatch.setattr(Core, "solve", solve)
    for found, right in zip(both(), wanted, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-12 * np.max(np.abs(right)))
