"""Asked of a rod before it is solved: can its ends be reached, have its loads a potential, does it stay in a plane.

Messages name the part, the value with its unit, and the remedy.
"""

from __future__ import annotations

import numpy as np

from elver.errors import BadInput
from elver.lie import se3
from elver.one_rod.problem import RodProblem

__all__ = ["PLANAR_STRAINS", "check_ends", "check_potential", "check_reach", "is_planar"]

PLANAR_STRAINS = (2, 3, 4)


def check_ends(problem: RodProblem) -> None:
    """Enough is held to place the rod."""
    base, tip = problem.base, problem.tip
    held = base.held + tip.held
    if not held:
        raise BadInput(
            "both ends are free: 0 components of the poses are held, and at least 6 are needed to place a rod; "
            "clamp an end, or hold positions and turns with Hold(...)"
        )
    if held >= 6:
        return
    probe = problem.at(np.linspace(0.0, problem.length, 17))
    if not (probe.turns or np.any(problem.base_wrench.dead) or np.any(problem.tip_wrench.dead)):
        raise BadInput(
            f"the base is {base.name} and the tip is {tip.name}: {held} components of the poses are held, and 6 are "
            "needed to place a rod on which no weight and no dead load acts; hold more"
        )


def check_reach(problem: RodProblem) -> None:
    """An inextensible rod cannot span more than its length."""
    both = set(problem.base.position_axes) == set(problem.tip.position_axes) == {0, 1, 2}
    if not both or problem.closed or set(problem.component) & {3, 4, 5}:
        return
    distance = float(np.linalg.norm(problem.tip.pose[:3, 3] - problem.base.pose[:3, 3]))
    s = np.linspace(0.0, problem.length, 257)
    reach = float(np.mean(np.linalg.norm(problem.rest_strain(s)[:, 3:], axis=1)) * problem.length)
    if distance > reach * (1.0 + 1e-9):
        raise BadInput(
            f"the ends of {problem.name!r} are held {distance:g} m apart, and the rod does not stretch beyond its "
            f"{reach:g} m: bring them closer, or free the strain G_x"
        )


def check_potential(problem: RodProblem) -> None:
    """Only loads with a potential can be minimised."""
    here = problem.at(np.linspace(0.0, problem.length, 65))
    remedy = "it has no potential to be minimised; use the indirect method or equilibrium(system, ...)"
    if np.any(here.follower):
        raise BadInput(f"{problem.name!r} carries a distributed follower load: {remedy}")
    if np.any(here.dead[:, :3]):
        raise BadInput(f"{problem.name!r} carries distributed couples fixed in space: {remedy}")
    for where, wrench in (("base", problem.base_wrench), ("tip", problem.tip_wrench)):
        if np.any(wrench.follower[3:]):
            raise BadInput(f"a follower force acts on the {where} of {problem.name!r}: {remedy}")
        if np.any(wrench.follower[:3]) or np.any(wrench.dead[:3]):
            normal = problem.base.pose[:3, 2]
            dead = wrench.dead[:3]
            flat = np.allclose(wrench.follower[:2], 0.0) and np.allclose(dead, normal * (normal @ dead))
            if not (is_planar(problem) and flat):
                raise BadInput(
                    f"a couple acts on the {where} of {problem.name!r}: only in the plane has it a potential; "
                    "use the indirect method or equilibrium(system, ...)"
                )


def is_planar(problem: RodProblem) -> bool:
    """True when no free strain, rest shape or end leaves the plane of the base's x and y.

    Where the base is not clamped, or the tip is held along some world axes only, the plane is that of world x and y.
    """
    base, tip = problem.base, problem.tip
    if not set(problem.component) <= set(PLANAR_STRAINS):
        return False
    rest = problem.rest_strain(np.linspace(0.0, problem.length, 65))
    if np.any(rest[:, [0, 1, 5]]):
        return False
    upright = bool(np.allclose(base.pose[:3, :3], np.eye(3), atol=1e-12))
    if not base.is_clamped and not upright:
        return False
    if not tip.held or problem.closed:
        return True
    g = se3.inverse(base.pose) @ tip.pose
    places = set(tip.position_axes)
    flat_turn = not tip.rotation_axes or np.allclose(g[:3, 2], [0.0, 0.0, 1.0], atol=1e-12)
    flat_place = not places or upright or places == {0, 1, 2}
    out = abs(g[2, 3]) if 2 in places else 0.0
    return bool(flat_turn and flat_place and out < 1e-12 * problem.length)
