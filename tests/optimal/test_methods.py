"""Three methods, one answer: strain modes, shooting and direct transcription on one rod after another."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.lie import se3, so3
from elver.optimal.methods import compare_methods, rod_equilibrium

SOFT = ev.Material(young=2e6, poisson=0.4, density=1100.0)
DOWN = se3.pose(so3.exp(np.array([0.0, np.pi / 2.0, 0.0])), np.zeros(3))
L = 0.5


def rod(basis: ev.Legendre | None = None, **more) -> ev.Rod:
    return ev.Rod(L, ev.Circle(0.01), SOFT, basis or ev.Legendre.kirchhoff(10), **more)


def tip_force() -> tuple[ev.System, dict]:
    r = rod()
    return ev.System(ev.Mechanism.clamped(r), loads=[ev.PointWrench(r, "tip", force=(0.02, 0.05, -0.06))]), {}


def tip_moment() -> tuple[ev.System, dict]:
    r = rod()
    couple = ev.PointWrench(r, "tip", moment=(0.0, 0.0, 0.03), frame="section")
    return ev.System(ev.Mechanism.clamped(r), loads=[couple]), {}


def weight() -> tuple[ev.System, dict]:
    return ev.System(ev.Mechanism.clamped(rod()), loads=[ev.Gravity()]), {}


def hanging() -> tuple[ev.System, dict]:
    r = rod()
    loads = [ev.Gravity(), ev.PointWrench(r, "tip", force=(0.0, 0.04, 0.0))]
    return ev.System(ev.Mechanism.clamped(r, pose=DOWN), loads=loads), {}


def heavy_column() -> tuple[ev.System, dict]:
    """Upright, pushed aside a little: below its buckling load."""
    up = se3.pose(so3.exp(np.array([0.0, -np.pi / 2.0, 0.0])), np.zeros(3))
    r = ev.Rod(0.2, ev.Circle(0.01), SOFT, ev.Legendre.kirchhoff(10))
    loads = [ev.Gravity(), ev.PointWrench(r, "tip", force=(0.0, 0.02, 0.0))]
    return ev.System(ev.Mechanism.clamped(r, pose=up), loads=loads), {}


def tendon() -> tuple[ev.System, dict]:
    r = rod()
    cable = ev.Tendon(r, ev.parallel(y=0.008, z=0.0))
    return ev.System(ev.Mechanism.clamped(r), [cable], [ev.Gravity()]), {cable: 3.0}


def helical_tendon() -> tuple[ev.System, dict]:
    r = rod()
    cable = ev.Tendon(r, ev.helical(radius=0.008, turns=1.0))
    return ev.System(ev.Mechanism.clamped(r), [cable]), {cable: 4.0}


def muscle() -> tuple[ev.System, dict]:
    r = rod()
    flexor = ev.Muscle(r, target=(0.0, 1.0, 2.0, 1.0, 0.0, 0.0))
    return ev.System(ev.Mechanism.clamped(r), [flexor], [ev.Gravity()]), {flexor: 1.0}


def helix_at_rest() -> tuple[ev.System, dict]:
    r = rod(rest=(6.0, 0.0, 8.0))
    return ev.System(ev.Mechanism.clamped(r, pose=DOWN), loads=[ev.Gravity()]), {}


def stretchable() -> tuple[ev.System, dict]:
    r = rod(ev.Legendre.reissner(8))
    return ev.System(ev.Mechanism.clamped(r), loads=[ev.PointWrench(r, "tip", force=(0.5, 0.1, 0.0))]), {}


def prescribed_tip() -> tuple[ev.System, dict]:
    r = rod()
    pose = se3.pose(so3.exp(np.array([0.0, 0.0, 0.4])), np.array([0.42, 0.12, 0.0]))
    hold = ev.Hold("tip", position=pose[:3, 3], orientation=pose[:3, :3])
    return ev.System(ev.Mechanism.clamped(r, holds=[hold])), {}


PROBLEMS = [
    tip_force, tip_moment, weight, hanging, heavy_column, tendon, helical_tendon, muscle, helix_at_rest, stretchable,
    prescribed_tip,
]  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_three_methods_one_answer(problem):
    """Shooting is exact to 1e-8; ten functions are to about 1e-6 of the length, fifty linear elements to h² ≈ 4e-4."""
    system, inputs = problem()
    modes = rod_equilibrium(system, inputs, "modes")
    exact = rod_equilibrium(system, inputs, "indirect")
    tip = exact.tip[:3, 3]
    assert np.linalg.norm(modes.tip[:3, 3] - tip) < 1e-5 * L
    assert modes.energy == pytest.approx(exact.energy, rel=1e-5, abs=1e-9)
    scale = abs(exact.energy) + 1e-9
    if problem in (tip_moment,):  # a couple that follows has no potential: direct methods refuse it
        with pytest.raises(ev.BadInput):
            rod_equilibrium(system, inputs, "direct")
        return
    direct = rod_equilibrium(system, inputs, "direct", elements=50)
    assert np.linalg.norm(direct.tip[:3, 3] - tip) < 4e-4 * L
    assert abs(direct.energy - exact.energy) < 1e-3 * scale
    assert direct.stable
    assert modes.stable
    assert exact.stable


def test_table_of_methods():
    system, inputs = tendon()
    found = compare_methods(system, inputs)
    assert set(found.shapes) == {"modes", "indirect", "direct"}
    assert found.distance("modes", "indirect") < 1e-5 * L
    text = str(found)
    assert text.splitlines()[0].startswith("method")
    assert "indirect" in text


def test_a_method_that_is_not_there():
    system, _ = weight()
    with pytest.raises(ev.BadInput, match="method = 'magic': choose one of 'auto', 'modes', 'indirect', 'direct'"):
        rod_equilibrium(system, None, "magic")
