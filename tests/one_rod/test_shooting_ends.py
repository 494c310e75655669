"""Ends of a rod that moves by shooting: held tips and bases against closed forms and against strain modes with Hold."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.lie import se3, so3
from elver.one_rod.shooting.dynamics import RodMotion, shooting_dynamics

STEEL = ev.Material(young=207e9, poisson=0.3, density=8000.0)
TAU = 0.0629086  # s, L²√(ρA/EI) of the rod below
ACROSS = (None, 0.0, 0.0)


def steel() -> ev.Rod:
    return ev.Rod(0.4, ev.Circle(1e-3), STEEL, ev.Legendre.kirchhoff(5), name="arm")


def beam(case: str) -> ev.Mechanism:
    """Ends that slide along the rod: a straight rod that cannot stretch has no other small motion."""
    rod, upright = steel(), np.eye(3)
    if case == "clamped-clamped":
        return ev.Mechanism.clamped(rod, holds=[ev.Hold("tip", ACROSS, upright)])
    if case == "clamped-pinned":
        return ev.Mechanism.clamped(rod, holds=[ev.Hold("tip", ACROSS)])
    if case == "pinned-clamped":
        return ev.Mechanism.free(rod, holds=[ev.Hold("base", (0.0, 0.0, 0.0)), ev.Hold("tip", ACROSS, upright)])
    still = ev.Hold("base", (0.0, 0.0, 0.0), upright, "x")  # or it would spin about itself
    return ev.Mechanism.free(rod, holds=[still, ev.Hold("tip", ACROSS)])


@pytest.mark.parametrize(
    ("case", "number"),
    [("clamped-clamped", 22.3733), ("clamped-pinned", 15.4182), ("pinned-clamped", 15.4182), ("pinned-pinned", 9.8696)],
)
def test_frequencies_of_beams(case, number):
    """(kL)²/(2πτ) of Euler-Bernoulli within 0.5 %, 60 steps in a period (of which the scheme stretches it by 0.1 %)."""
    robot = beam(case)
    push = ev.DistributedWrench(robot.rod, force=(0.0, 0.05, 0.0))
    bent = ev.equilibrium(ev.System(robot, loads=[push])).state
    system = ev.System(robot)
    frequency = number / (2.0 * np.pi * TAU)
    run = shooting_dynamics(
        system, system.rest().with_(q=bent.q, g=bent.g), 1.4 / frequency, 1.0 / (60.0 * frequency), segments=4, nodes=40
    )
    y = run.pose[:, run.s.size // 2, 1, 3]
    k = np.flatnonzero((y[:-1] > 0.0) & (y[1:] <= 0.0))
    zeros = run.time[k] + (run.time[k + 1] - run.time[k]) * y[k] / (y[k] - y[k + 1])
    assert 1.0 / np.diff(zeros).mean() == pytest.approx(frequency, rel=5e-3)
    assert np.abs(run.tip[:, 1:]).max() < 1e-9  # held where it is, by Newton


def arch(kind: str) -> ev.System:
    """A soft rod whose tip is held nearer than its length, with gravity and a push that can go."""
    soft = ev.Material(young=1e6, poisson=0.45, density=1070.0)
    rod = ev.Rod(0.4, ev.Circle(8e-3), soft, ev.Legendre.kirchhoff(8), name="arm")
    place, R = (0.3, 0.05, -0.04), so3.exp(np.array([0.3, 0.0, -0.6]))
    tips = {
        "clamped": ev.Hold("tip", place, R),
        "pinned": ev.Hold("tip", place),
        "guided": ev.Hold("tip", (None, *place[1:]), R, "xz"),
        "ball": ev.Hold("tip", place, R),
    }
    if kind == "ball":
        robot = ev.Mechanism((ev.Spherical("world", (rod, "base")),), holds=(tips[kind],))
    else:
        robot = ev.Mechanism.clamped(rod, holds=[tips[kind]])
    push = ev.DistributedWrench(rod, force=(0.0, 0.6, 0.4), name="push")
    return ev.System(robot, loads=[ev.Gravity(), push])


def positions(run: RodMotion, s: np.ndarray) -> np.ndarray:
    """(T, nodes, 3) at ``s``: cubic between nodes would be finer, and lines are good to 1e-4 of the length here."""
    return np.stack(
        [[np.interp(s, run.s, run.pose[k, :, j, 3]) for k in range(run.time.size)] for j in range(3)], axis=2
    )


@pytest.mark.parametrize("kind", ["clamped", "pinned", "guided", "ball"])
def test_held_arches_move_like_strain_modes(kind):
    """The push goes: positions within 0.2 % of the length of strain modes with the same scheme, and reactions agree.

    Fast waves, which eight functions miss, move the reaction by some percent at any instant, so its mean is compared.
    The bounds are our own: truncation of the modes, not known beforehand.
    """
    system = arch(kind)
    start = ev.forward_dynamics(system, ev.equilibrium(system, inputs={"push": 1.0}).state, {"push": 0.0})
    gone = {"push": 0.0}
    run = shooting_dynamics(system, start, 0.16, 4e-3, gone, segments=6, nodes=60)
    scheme = ev.GeneralizedAlpha(rho_inf=0.6) if system.multipliers else ev.Newmark()  # those of shooting
    modes = ev.simulate(system, start, 0.16, 4e-3, inputs=gone, start="given", method=scheme)
    path = modes["arm/position"].values
    off = np.linalg.norm(positions(run, modes["arm/s"].values) - path, axis=2).max()
    assert off < 2e-3 * 0.4
    assert np.abs(path - path[0]).max() > 0.02  # it does move
    force = np.einsum("tij,tj->ti", run.pose[:, -1, :3, :3], run.wrench[:, -1, 3:])
    axes = [k for k, name in enumerate(modes["multiplier"].values) if "/force_" in str(name)][-3:]
    held = [j for j in range(3) if kind != "guided" or j > 0]
    reaction = -modes["multipliers"].values[:, axes[-len(held) :]]
    apart = np.mean(force[1:, held] - reaction[1:], axis=0)
    assert np.abs(apart).max() < 0.02 * np.abs(reaction).max()
    if kind == "guided":
        assert np.abs(force[1:, 0]).max() < 1e-6  # free to slide


def test_a_pinned_rod_swings():
    """A pendulum: stiff, pinned at its base by a ball joint, small swings at √(3γ/2L)/2π within 0.5 %."""
    stiff = ev.Material(young=207e9, poisson=0.3, density=8000.0)
    rod = ev.Rod(0.4, ev.Circle(1e-2), stiff, ev.Legendre.kirchhoff(2), name="bar")
    tilt = se3.pose(so3.exp(np.array([0.0, np.pi / 2.0 - 0.02, 0.0])), np.zeros(3))
    system = ev.System(
        ev.Mechanism.free(rod, pose=tilt, holds=[ev.Hold("base", (0.0, 0.0, 0.0))]), loads=[ev.Gravity()]
    )
    frequency = np.sqrt(1.5 * 9.81 / 0.4) / (2.0 * np.pi)
    run = shooting_dynamics(system, None, 2.6 / frequency, 0.02 / frequency, segments=2, nodes=12)
    x = run.tip[:, 0]
    k = np.flatnonzero((x[:-1] > 0.0) & (x[1:] <= 0.0))
    zeros = run.time[k] + (run.time[k + 1] - run.time[k]) * x[k] / (x[k] - x[k + 1])
    assert 1.0 / np.diff(zeros).mean() == pytest.approx(frequency, rel=5e-3)
    assert np.abs(run.pose[:, 0, :3, 3]).max() < 1e-12


def test_a_driven_rod_with_an_offset_moves_like_strain_modes():
    """The base goes round and up; the rod sits beside the frame that is driven."""
    soft = ev.Material(young=1e6, poisson=0.45, density=1070.0)
    rod = ev.Rod(0.3, ev.Circle(8e-3), soft, ev.Legendre.kirchhoff(5), name="arm")

    def pose(t):
        return se3.pose(
            so3.exp(np.array([0.0, 0.0, 2.0 * t * t])), np.array([0.0, 0.0, 0.1 * np.sin(5.0 * t) - 0.5 * t])
        )

    beside = se3.pose(so3.exp(np.array([0.0, 0.3, 0.0])), np.array([0.05, 0.0, 0.02]))
    robot = ev.Mechanism((ev.Fixed(("world", beside), (rod, "base")),), ev.Driven(ev.Motion(pose)))
    system = ev.System(robot, loads=[ev.Gravity()])
    run = shooting_dynamics(system, None, 0.2, 4e-3, segments=5, nodes=50)
    scheme = ev.GeneralizedAlpha(rho_inf=0.6) if system.multipliers else ev.Newmark()  # those of shooting
    modes = ev.simulate(system, None, 0.2, 4e-3, start="given", method=scheme)
    # a bound of our own, as of the arches: truncation of the modes
    assert np.linalg.norm(run.tip - modes["arm/tip/position"].values, axis=1).max() < 2e-3 * 0.3


def test_a_clamped_ring_sags_like_strain_modes():
    """A hoop fixed at one section, in oblique gravity: the far side within 0.2 % of its length, and it stays closed."""
    soft = ev.Material(young=2e6, poisson=0.45, density=1070.0)
    circle = (0.0, 0.0, 2.0 * np.pi, 1.0, 0.0, 0.0)
    hoop = ev.Rod(1.0, ev.Circle(8e-3), soft, ev.Legendre.kirchhoff(9), rest=circle, name="hoop")
    ring = ev.Mechanism((ev.Fixed("world", (hoop, "base")), ev.Fixed((hoop, "base"), (hoop, "tip"))))
    system = ev.System(ring, loads=[ev.Gravity((0.0, 2.0, -1.0))])
    run = shooting_dynamics(system, None, 0.1, 5e-3)
    scheme = ev.GeneralizedAlpha(rho_inf=0.6) if system.multipliers else ev.Newmark()  # those of shooting
    modes = ev.simulate(system, None, 0.1, 5e-3, start="given", method=scheme)
    k = int(np.argmin(np.abs(modes["hoop/s"].values - 0.5)))
    far = positions(run, modes["hoop/s"].values[k : k + 1])[:, 0]
    assert np.linalg.norm(far - modes["hoop/position"].values[:, k], axis=1).max() < 2e-3
    assert np.linalg.norm(far[-1] - far[0]) > 5e-3
    assert np.abs(run.tip - run.pose[:, 0, :3, 3]).max() < 1e-9


def test_newmark_rings_where_the_tip_is_held():
    """What the docstring says of index 3: undamped, accelerations of a held rod grow; the default keeps them down."""
    robot = beam("clamped-clamped")
    push = ev.DistributedWrench(robot.rod, force=(0.0, 0.05, 0.0))
    bent = ev.equilibrium(ev.System(robot, loads=[push])).state
    system = ev.System(robot)
    state = system.rest().with_(q=bent.q)
    step = 2.0 * np.pi * TAU / 22.37 / 60.0
    damped = shooting_dynamics(system, state, 60 * step, step, segments=4, nodes=40)
    with pytest.warns(ev.ElverWarning, match="rings from step to step"):
        undamped = shooting_dynamics(system, state, 60 * step, step, segments=4, nodes=40, method=ev.Newmark())
    assert damped.strain_acceleration[-1] < damped.strain_acceleration[1]
    assert undamped.strain_acceleration[-1] > 10.0 * undamped.strain_acceleration[1]
    assert np.abs(undamped.pose[:, 20, 1, 3] - damped.pose[:, 20, 1, 3]).max() < 0.05 * damped.pose[0, 20, 1, 3]


def test_what_cannot_be_held_is_said():
    rod = steel()
    straight = ev.Mechanism.clamped(rod, holds=[ev.Hold("tip", (0.4, 0.0, 0.0), np.eye(3))])
    with pytest.raises(ev.BadInput, match="position x of the tip is held, and no free strain of the rod moves it"):
        shooting_dynamics(ev.System(straight), duration=0.1)
    flat = ev.Rod(0.4, ev.Circle(1e-3), STEEL, ev.Legendre.planar(4))
    spatial = ev.Mechanism.clamped(flat, holds=[ev.Hold("tip", (None, 0.0, 0.0))])
    with pytest.raises(ev.BadInput, match="position z of the tip is held, and no free strain"):
        shooting_dynamics(ev.System(spatial), duration=0.1)
    open_end = ev.System(ev.Mechanism.clamped(rod, holds=[ev.Hold("tip", (0.3, 0.1, 0.0))]))
    with pytest.raises(ev.BadInput, match=r"the start is open: position [xy] of the tip is 0.1 m|is -?0.1 m"):
        shooting_dynamics(open_end, duration=0.1)
    eel = ev.Rod(1.0, ev.Circle(0.05), ev.Material(young=1e6, density=1e3, poisson=0.5), ev.Legendre.kirchhoff(2))
    water = ev.System(ev.Mechanism.free(eel, holds=[ev.Hold("tip", (1.0, 0.0, 0.0))]), loads=[ev.Lighthill(eel)])
    with pytest.raises(ev.BadInput, match="Lighthill's tail sheds its wake freely"):
        shooting_dynamics(water, duration=0.1)
