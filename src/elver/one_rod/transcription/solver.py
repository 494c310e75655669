"""Stationary points of a transcribed rod: Ipopt or Newton, the second variation, and constraints that contradict.

Nothing leaves this module that does not meet the first-order conditions, whatever the solver says of itself. Where no
shape is found, the energy is left aside and what the constraints miss is made least; where that is not zero they are
left out one after the other, and those without any one of which a shape exists are the ones that contradict each other
(deletion filter; J. W. Chinneck and E. W. Dravnieks, ORSA J. Computing 3, 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, eigvalsh_tridiagonal, ldl, lstsq, qr
from scipy.optimize import least_squares
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from elver.errors import BadInput, NotConverged
from elver.one_rod.transcription.transcription import Transcription

__all__ = ["NEUTRAL", "Stationary", "minimum", "stationary"]

Array: TypeAlias = NDArray[np.float64]

NEUTRAL = 1e-7  # smallest eigenvalue that counts as zero: motions that nothing resists, such as turning a ring
_ACTIVE = 1e-6  # scaled multiplier above which an inequality is an equality for the second variation
_STALLED = ("Error_In_Step_Computation", "Search_Direction_Becomes_Too_Small", "Restoration_Failed")
_LONGEST = 4.0  # longest Newton step: change of a curvature times L
_MISSED = 1e-6  # scaled violation of a row that is one
_ELASTIC_STEPS = 200


@dataclass(frozen=True, eq=False)
class Stationary:
    """A stationary point of the program: unknowns, multipliers, verdict."""

    w: Array
    lam: Array
    mu: Array
    f: float
    iterations: int
    residual: float
    eigenvalue: float
    negative: int
    history: tuple[float, ...]
    away: Array
    """(ν, U) moved from a saddle along its most negative direction."""


class _Answer(NamedTuple):
    """Where a solver stopped: (ν, U, X), multipliers of its rows, and what it says of itself."""

    w: Array
    lam_g: Array
    success: bool
    status: str
    steps: int
    history: tuple[float, ...]
    missed: Array


# Solvers ------------------------------------------------------------------------------------------------------------


def minimum(task: Transcription, v: Array, shooting: str, tolerance: float, max_iterations: int) -> Stationary:
    """A minimum of the potential from (ν, U), by Ipopt."""
    answer = _ipopt(task, v, shooting, tolerance, max_iterations)
    if not answer.success and answer.status in _STALLED and np.all(task.lower == task.upper):
        # motions that nothing resists stall the last digits of Ipopt; Newton with least-norm steps passes them
        try:
            return stationary(task, answer.w[: len(v)], tolerance, 10)
        except NotConverged:
            pass
    if not answer.success:
        raise NotConverged(_why(task, v, answer), history=answer.history)
    return _judged(task, answer, shooting, tolerance)


def _ipopt(task: Transcription, v: Array, shooting: str, tolerance: float, max_iterations: int) -> _Answer:
    options = (
        ("print_time", False), ("calc_lam_p", False), ("ipopt.print_level", 0), ("ipopt.sb", "yes"),
        ("show_eval_warnings", False), ("ipopt.tol", tolerance), ("ipopt.constr_viol_tol", tolerance),
        ("ipopt.acceptable_tol", tolerance), ("ipopt.acceptable_constr_viol_tol", tolerance),
        ("ipopt.max_iter", max_iterations), ("ipopt.bound_relax_factor", 0.0),
    )  # fmt: skip
    solver = task.program.solver(shooting, options)
    lower, upper, zeros = task.lower, task.upper, np.zeros(task.layout.sizes[2])
    if shooting == "multiple":
        answer = solver(
            x0=task.roll(v), p=task.parameters, lbg=np.concatenate([zeros, lower]), ubg=np.concatenate([zeros, upper])
        )
    else:
        answer = solver(x0=v, p=task.parameters, lbg=lower, ubg=upper)
    stats = solver.stats()
    w = np.array(answer["x"]).ravel()
    w = task.roll(w) if shooting == "single" else w
    status, steps = str(stats["return_status"]), int(stats["iter_count"])
    own = task.program.own_energy
    if own is not None and own.raised is not None:
        raised, own.raised = own.raised, None  # programs are kept
        raise raised
    if not np.all(np.isfinite(w)):
        raise NotConverged(f"direct_equilibrium: {status} after {steps} steps, numbers are no longer finite")
    rows = np.array(task.program.first_order(w, task.parameters)[4]).ravel()
    missed = np.maximum(np.maximum(lower - rows, rows - upper), 0.0)
    history = tuple(float(x) for x in stats.get("iterations", {}).get("inf_du", ()))
    return _Answer(w, np.array(answer["lam_g"]).ravel(), bool(stats["success"]), status, steps, history, missed)


def stationary(task: Transcription, v: Array, tolerance: float, max_iterations: int) -> Stationary:
    """Stationary point near (ν, U): Newton's method on the condensed first-order conditions, least-norm steps.

    Directions that nothing resists (a ring that turns) leave the matrix singular, and the least norm leaves them.
    """
    if np.any(task.lower != task.upper):
        names = ", ".join(repr(c.name) for c in task.constraints if np.any(np.asarray(c.lower) != c.upper))
        raise BadInput(f'seek = "stationary" takes equalities only, and {names} is not one; use seek="minimum"')
    own, history = len(v), []
    mu = np.zeros(len(task.lower))
    for count in range(min(max_iterations, 100) + 1):
        w = task.roll(v)
        _, slope, _, J, rows, A = task.program.first_order(w, task.parameters)
        slope, gap = np.array(slope).ravel(), np.array(rows).ravel() - task.lower
        J, A = J.sparse().tocsc(), A.sparse() if A.shape[0] else None
        factor = splu(J[:, own:].tocsc())
        Z = np.vstack([np.eye(own), factor.solve(-J[:, :own].toarray())])
        held = np.zeros((0, own)) if A is None else A @ Z
        gradient = Z.T @ slope
        if count == 0 and len(mu):
            mu = np.linalg.lstsq(held.T, -gradient, rcond=None)[0]
        missed = float(np.max(np.abs(gap), initial=0.0))
        residual = max(float(np.max(np.abs(gradient + held.T @ mu))), missed)
        history.append(residual)
        if missed < tolerance and residual < tolerance * max(1.0, float(np.max(np.abs(mu), initial=0.0))):
            answer = _Answer(w, mu, True, "", count, tuple(history), np.abs(gap))
            return _judged(task, answer, "single", tolerance)
        if not np.isfinite(residual) or count == min(max_iterations, 100):
            break
        pull = slope + (A.T @ mu if A is not None else 0.0)
        lam = -factor.solve(pull[own:], trans="T")
        W = task.program.hessian(w, task.parameters, 1.0, lam, mu).sparse()
        n = len(mu)
        matrix = np.block([[Z.T @ (W @ Z), held.T], [held, np.zeros((n, n))]])
        step = lstsq(matrix, -np.concatenate([gradient, gap]), cond=1e-11, lapack_driver="gelsy")[0]
        size = np.max(np.abs(step[:own]))
        v = v + step[:own] * min(1.0, _LONGEST / max(size, 1e-300))
        mu = step[own:] if size <= _LONGEST else mu + (step[own:] - mu) * _LONGEST / size
    raise NotConverged(
        f"direct_equilibrium: residual {history[-1]:.1e} after {len(history) - 1} Newton steps (wanted "
        f"{tolerance:.0e}); give a guess nearer to the shape wanted",
        history=history,
    )


# First and second order ---------------------------------------------------------------------------------------------


def _judged(task: Transcription, answer: _Answer, shooting: str, tolerance: float) -> Stationary:
    """The answer, if it meets the first-order conditions, with the verdict of the second variation."""
    w, layout = answer.w, task.layout
    f, slope, defects, J, _, A = task.program.first_order(w, task.parameters)
    n_defects, own = layout.sizes[2], layout.sizes[0] + layout.sizes[1]
    slope = np.array(slope).ravel()
    if len([k for k in layout.tip_held if k < 3]) == 3 and not task.planar:
        X = w[-n_defects:]
        *_, cosine = task.program.ends(X[:12], X[-12:], task.parameters[:39])
        if float(cosine) < 0.0:
            raise NotConverged("direct_equilibrium: the tip is turned by half a turn from where it is held")

    # multipliers of the poses: those of Ipopt, or from stationarity where the poses were eliminated
    J, A = J.sparse(), A.sparse() if A.shape[0] else None
    factor = splu(J[:, own:].tocsc())
    if shooting == "multiple":
        lam, mu = answer.lam_g[:n_defects], answer.lam_g[n_defects:]
        pull = slope + (A.T @ mu if A is not None else 0.0)
    else:
        mu = answer.lam_g
        pull = slope + (A.T @ mu if A is not None else 0.0)
        lam = -factor.solve(pull[own:], trans="T")

    # whatever the solver says of itself
    worst = max(float(np.max(np.abs(np.array(defects)), initial=0.0)), float(np.max(answer.missed, initial=0.0)))
    size = max(1.0, float(np.max(np.abs(lam), initial=0.0)), float(np.max(np.abs(mu), initial=0.0)))
    unbalanced = float(np.max(np.abs(pull + J.T @ lam))) / size
    if worst > 10.0 * tolerance or unbalanced > 1e3 * tolerance:
        raise NotConverged(
            f"direct_equilibrium: stopped ({answer.status}) after {answer.steps} steps with an imbalance of "
            f"{unbalanced:.1e} B/L and constraints missed by {worst:.1e} (wanted {tolerance:.0e}); give a guess nearer "
            "to the shape wanted, or more elements",
            history=answer.history,
        )
    eigenvalue, negative, direction = _second_variation(task, w, lam, mu, J, factor, A)
    away = w[:own] + 0.3 * direction
    return Stationary(w, lam, mu, float(f), answer.steps, worst, eigenvalue, negative, answer.history, away)


def _second_variation(
    task: Transcription, w: Array, lam: Array, mu: Array, J: Any, factor: Any, A: Any
) -> tuple[float, int, Array]:
    """Smallest eigenvalue on the null space of the active rows, how many are negative, and the direction in (ν, U) of
    the smallest, largest entry 1."""
    layout = task.layout
    own = layout.sizes[0] + layout.sizes[1]
    # Z: states that follow the strains
    follow = factor.solve(-J[:, :own].toarray())
    Z = np.vstack([np.eye(own), follow])
    W = task.program.hessian(w, task.parameters, 1.0, lam, mu).sparse()
    reduced = Z.T @ (W @ Z)
    # measure: ∫|δu|² ds/L of strains, |ν|² of motions of the base; by the quadrature of the elastic energy
    h = np.diff(task.s) / task.L
    a, b = layout.columns
    sides = (1 / 3, 1 / 6) if layout.strain == "linear" and layout.order == 4 else (1 / 2, 0.0)
    measure = np.zeros((layout.strain_columns,) * 2)
    for i, j, part in ((a, a, sides[0]), (b, b, sides[0]), (a, b, sides[1]), (b, a, sides[1])):
        np.add.at(measure, (i, j), part * h)
    mass = np.eye(own)
    mass[layout.sizes[0] :, layout.sizes[0] :] = np.kron(measure, np.eye(len(layout.free)))
    basis = np.eye(own)
    if A is not None:
        active = (task.lower == task.upper) | (np.abs(mu) > _ACTIVE)
        if active.any():
            held = A.toarray()[active] @ Z
            size = np.linalg.norm(held, axis=1, keepdims=True)
            held = held[size[:, 0] > 1e-12] / size[size[:, 0] > 1e-12]
            Q, triangle, _ = qr(held.T, pivoting=True)
            rank = int(np.sum(np.abs(np.diag(triangle)) > 1e-10))
            basis = Q[:, rank:]
    if basis.shape[1] == 0:
        return np.inf, 0, np.zeros(own)
    K, M = basis.T @ reduced @ basis, basis.T @ mass @ basis
    value, vector = _lowest(K, M)
    negative = _below(K, M, -NEUTRAL) if value < -NEUTRAL else 0
    direction = basis @ vector
    return value, negative, direction / np.max(np.abs(direction))


def _lowest(K: Array, M: Array) -> tuple[float, Array]:
    """Smallest eigenvalue of K x = λ M x, M positive, and its vector, by inverse iteration from below.

    K - σ M has a Cholesky factor exactly when σ lies below all eigenvalues; then the nearest to σ is the smallest.
    """
    n = len(K)
    if n > 40:
        shift = -1.0
        for _ in range(40):
            try:
                factor = cho_factor(K - shift * M, lower=True)
                break
            except LinAlgError:
                shift *= 4.0
        inverse = LinearOperator((n, n), matvec=lambda x: cho_solve(factor, x), dtype=float)
        start = np.cos(np.arange(n) * 1.7) + 0.1  # the same answer at every call
        values, vectors = eigsh(K, k=1, M=M, sigma=shift, OPinv=inverse, v0=start, tol=1e-10)
    else:
        values, vectors = eigh(K, M, subset_by_index=[0, 0])
    return float(values[0]), np.asarray(vectors[:, 0])


def _below(K: Array, M: Array, shift: float) -> int:
    """Number of eigenvalues of K x = λ M x, M positive, below ``shift``: the negative ones of K - σM (Sylvester)."""
    _, D, _ = ldl(K - shift * M)
    return int(np.sum(eigvalsh_tridiagonal(np.diag(D), np.diag(D, 1)) < 0.0))


# Contradictions -----------------------------------------------------------------------------------------------------


def _why(task: Transcription, v: Array, answer: _Answer) -> str:
    """What to tell of a search that failed: which constraints contradict each other, or which rows are violated."""
    after = f"after {answer.steps} steps of Ipopt"
    violated = _violations(task, answer.missed)
    if violated and (names := _contradiction(task, v)):
        whole = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
        kept = "without any one of them there is one" if len(names) > 1 else "without it there is one"
        return (
            f"direct_equilibrium: no shape meets {whole}{' together' * (len(names) > 1)} ({kept}); the nearest found "
            f"{after} violates {violated}; relax one of them, or give a guess nearer to the shape wanted"
        )
    words = {
        "Infeasible_Problem_Detected": "no shape meets all constraints near the start",
        "Restoration_Failed": "no shape meets all constraints near the start",
        "Maximum_Iterations_Exceeded": "did not converge",
        "Not_Enough_Degrees_Of_Freedom": "there are more equations than unknowns",
    }.get(answer.status, f"stopped ({answer.status})")
    text = f"direct_equilibrium: {words} {after}" + (f"; violated: {violated}" if violated else "")
    return text + "; relax these, give a guess nearer to the shape wanted, or more elements"


def _violations(task: Transcription, missed: Array) -> str:
    """The worst row of each owner, in words; empty when all are met."""
    rows = task.rows()
    worst: dict[str, int] = {}
    for k in np.argsort(-missed):
        if missed[k] > _MISSED:
            worst.setdefault(rows[k].owner, int(k))
    parts = []
    for owner, k in list(worst.items())[:4]:
        size = missed[k] * (task.L if rows[k].unit == "m" else 1.0)
        parts.append(f"{owner} {rows[k].where} by {size:.3g} {rows[k].unit}".rstrip())
    return ", ".join(parts)


def _contradiction(task: Transcription, v: Array) -> Sequence[str]:
    """Owners of rows that no shape near (ν, U) meets together, none of them to spare; empty if all can be met."""
    owners = np.array([row.owner for row in task.rows()])
    kept = list(dict.fromkeys(owners))
    if _elastic(task, v, np.isin(owners, kept)):
        return ()
    for name in tuple(kept):
        others = [other for other in kept if other != name]
        if others and not _elastic(task, v, np.isin(owners, others)):
            kept = others
    return kept


def _elastic(task: Transcription, v: Array, kept: NDArray[np.bool_]) -> bool:
    """True when some shape meets the ``kept`` rows: least squares of what they miss, energy left aside."""
    own = len(v)

    def missed(v: Array) -> Array:
        rows = np.array(task.program.first_order(task.roll(v), task.parameters)[4]).ravel()
        return np.asarray(rows - np.clip(rows, task.lower, task.upper))[kept]

    def slope(v: Array) -> Array:
        *_, J, rows, A = task.program.first_order(task.roll(v), task.parameters)
        J, rows = J.sparse().tocsc(), np.array(rows).ravel()
        Z = np.vstack([np.eye(own), splu(J[:, own:].tocsc()).solve(-J[:, :own].toarray())])
        off = (rows < task.lower) | (rows > task.upper) | (task.lower == task.upper)
        return np.asarray((off[:, None] * (A.sparse() @ Z))[kept])

    nearest = least_squares(missed, v, slope, method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=_ELASTIC_STEPS)
    return float(np.max(np.abs(nearest.fun), initial=0.0)) < _MISSED
