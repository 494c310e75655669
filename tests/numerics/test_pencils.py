"""Eigenvalues of a pair of symmetric matrices."""

import numpy as np
import pytest
from scipy.linalg import eigh

from elver.numerics.pencils import symmetric_pencil


def pair(seed: int, n: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(n, n))
    root = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-spread, spread, n)[:, None]
    return K + K.T, root @ root.T + 1e-6 * np.eye(n)


@pytest.mark.parametrize("seed", range(5))
def test_vectors_diagonalise_both_matrices(seed: int) -> None:
    K, M = pair(seed, 12, 1.0)
    values, vectors = symmetric_pencil(K, M)
    condition = np.linalg.cond(M)
    size = np.max(np.abs(values))
    assert np.all(np.diff(values) >= 0.0)
    # rounding, carried by the condition of M
    assert vectors.T @ M @ vectors == pytest.approx(np.eye(12), abs=1e-15 * 12 * condition)
    assert vectors.T @ K @ vectors == pytest.approx(np.diag(values), abs=1e-15 * 12 * condition * size)


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_lapack(seed: int) -> None:
    K, M = pair(seed, 9, 0.5)
    reference = eigh(K, M, eigvals_only=True)
    assert symmetric_pencil(K, M)[0] == pytest.approx(
        reference, abs=1e-14 * np.linalg.cond(M) * np.max(np.abs(reference))
    )


def test_a_mass_matrix_that_is_not_positive_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        symmetric_pencil(np.eye(2), np.diag([1.0, -1.0]))
