"""Sections held by multipliers: shapes, reactions, redundant rows, and targets that cannot be met."""

import warnings

import numpy as np
import pytest

import elver as ev
from elver.lie import so3

L, RADIUS = 1.0, 0.01
MATERIAL = ev.Material(young=5e7, poisson=0.5, density=1000.0)
EI = 5e7 * np.pi / 4.0 * RADIUS**4


def held(*holds, basis=None, loads=()):
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, basis or ev.Legendre.planar(10))
    return ev.System(ev.Mechanism.clamped(rod, holds=holds), loads=[make(rod) for make in loads])


def world_reaction(system, found, hold):
    """Force and moment [N, N m] of a hold of the tip on the rod, world axes, at the tip."""
    f, m = np.zeros(3), np.zeros(3)
    for axis, name in enumerate("xyz"):
        f[axis] = -found.multipliers.get(f"{hold.name}/force_{name}", 0.0)
        m[axis] = -found.multipliers.get(f"{hold.name}/moment_{name}", 0.0)
    return f, hold.R @ m


@pytest.mark.parametrize("target", [(0.8, 0.3), (0.5, -0.4), (0.2, 0.1), (0.999, 0.01)])
def test_a_pinned_tip_from_the_straight_rod(target):
    pin = ev.Hold("tip", position=(*target, None), name="pin")
    system = held(pin)
    found = ev.equilibrium(system)
    assert found.stable
    np.testing.assert_allclose(found.tip[:2, 3], target, atol=1e-10)
    # reaction: the free rod with this dead force at its tip rests in the same shape
    force, _ = world_reaction(system, found, pin)
    load = ev.PointWrench(system.rod, force=force)
    alone = ev.System(ev.Mechanism.clamped(system.rod), loads=[load])
    rest = ev.inverse_dynamics(alone, found.state.with_(multipliers=np.zeros(0)))
    assert np.max(np.abs(rest)) < 1e-9 * EI


def test_both_ends_clamped_in_space():
    R = so3.exp(np.array([0.3, 0.5, -0.4]))
    clamp = ev.Hold("tip", position=(0.7, 0.2, 0.15), orientation=R, name="clamp")
    gravity = ev.Gravity()
    system = held(clamp, basis=ev.Legendre.kirchhoff(20), loads=[lambda rod: gravity])
    found = ev.equilibrium(system)
    assert found.stable
    np.testing.assert_allclose(found.tip[:3, 3], clamp.position, atol=1e-10)
    np.testing.assert_allclose(found.tip[:3, :3], R, atol=1e-9)
    # global balance by the rod's own stress at the clamp: C(0) = moment of all that acts beyond
    force, moment = world_reaction(system, found, clamp)
    rod, s = system.rod, ev.nodes(system)
    weights = rod.grid.weights
    p = ev.poses(system, found.state)[:, :3, 3]
    assert np.array_equal(s, rod.grid.s)
    weight = rod.mass / L * np.array([0.0, 0.0, -9.81])
    beyond = moment + np.cross(found.tip[:3, 3], force) + np.cross(weights @ p, weight)
    couple = rod.stiffness([0.0])[0, :3] * rod.strain([0.0], found.state.q)[0, :3]
    # truncation of the strain at the end of its range, 6e-6 with twenty functions
    np.testing.assert_allclose(couple, beyond, atol=1e-5 * np.max(np.abs(beyond)))


def test_reactions_of_a_clamp_are_a_wrench_of_dead_loads():
    R = so3.exp(np.array([0.0, 0.0, 0.6]))
    clamp = ev.Hold("tip", position=(0.7, 0.2, None), orientation=R, orientation_axes="z", name="clamp")
    system = held(clamp)
    found = ev.equilibrium(system)
    force, moment = world_reaction(system, found, clamp)
    load = ev.PointWrench(system.rod, force=force, moment=moment)
    alone = ev.System(ev.Mechanism.clamped(system.rod), loads=[load])
    rest = ev.inverse_dynamics(alone, found.state.with_(multipliers=np.zeros(0)))
    assert np.max(np.abs(rest)) < 1e-9 * EI


def test_a_section_in_the_middle_can_be_held():
    prop = ev.Hold(0.5, position=(None, 0.0, None), name="prop")
    system = held(prop, loads=[lambda rod: ev.Gravity((0.0, -9.81, 0.0))], basis=ev.Legendre.planar(14))
    found = ev.equilibrium(system)
    middle = ev.poses(system, found.state)[np.argmin(np.abs(ev.nodes(system) - 0.5))]
    assert middle[1, 3] == pytest.approx(0.0, abs=1e-12)
    # propped beam, small deflection in its first half: more than half of the weight rests on the prop
    weight = system.rod.mass * 9.81
    assert 0.5 * weight < -found.multipliers["prop/force_y"] < 1.5 * weight


def test_a_planar_rod_may_be_held_by_three_coordinates():
    planar = held(ev.Hold("tip", position=(0.8, 0.3, None), name="pin"))
    spatial = held(ev.Hold("tip", position=(0.8, 0.3, 0.0), name="pin"))
    with pytest.warns(ev.ElverWarning, match=r"pin/force_z .*leave them free \(None\)"):
        found = ev.equilibrium(spatial)
    assert found.multipliers["pin/force_z"] == 0.0
    np.testing.assert_allclose(found.tip, ev.equilibrium(planar).tip, atol=1e-12)
    assert found.stable
    # and it moves, too
    run = ev.simulate(spatial, found, duration=0.02, step=1e-3, method=ev.GeneralizedAlpha())
    np.testing.assert_allclose(run["rod/tip/position"].values[-1], [0.8, 0.3, 0.0], atol=1e-9)


def test_a_section_held_twice_is_held_once():
    pin = ev.Hold("tip", position=(0.8, 0.3, None), name="pin")
    again = ev.Hold("tip", position=(0.8, None, None), name="again")
    with pytest.warns(ev.ElverWarning, match="again/force_x"):
        found = ev.equilibrium(held(pin, again))
    np.testing.assert_allclose(found.tip, ev.equilibrium(held(pin)).tip, atol=1e-12)


def test_holds_that_contradict_are_refused():
    with pytest.raises(ev.BadInput, match=r"tip.* along z differs by 0\.1 m.*\(None\)"):
        ev.equilibrium(held(ev.Hold("tip", position=(0.8, 0.3, 0.1))))
    pin = ev.Hold("tip", position=(0.8, 0.3, None), name="pin")
    other = ev.Hold("tip", position=(0.7, None, None), name="other")
    with pytest.raises(ev.BadInput, match=r"'other'.* 0\.1 m"):
        ev.equilibrium(held(pin, other))


def test_a_target_beyond_the_length_cannot_be_met():
    with pytest.raises(ev.NotConverged, match=r"cannot be met.*hold at the tip is open by 0\.2\d* m and 0 rad.*nearer"):
        ev.equilibrium(held(ev.Hold("tip", position=(1.2, 0.3, None))))


def test_a_free_base_needs_a_hold():
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, ev.Legendre.planar(4))
    with pytest.raises(ev.BadInput, match=r"free and nothing holds it.*Hold"):
        ev.equilibrium(ev.System(ev.Mechanism.free(rod)))


def test_a_rod_hung_by_its_base_hangs():
    rod = ev.Rod(L, ev.Circle(RADIUS), MATERIAL, ev.Legendre.planar(6))
    aside = np.eye(4)
    aside[:3, :3] = so3.exp(np.array([0.0, 0.0, 1.0]))
    foot = ev.Hold("base", position=(0.0, 0.0, 0.0), orientation=np.eye(3), orientation_axes="xy", name="hook")
    system = ev.System(ev.Mechanism.free(rod, pose=aside, holds=[foot]), loads=[ev.Gravity((9.81, 0.0, 0.0))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ev.equilibrium(system)
    assert found.stable
    np.testing.assert_allclose(found.tip[:3, 3], [L, 0.0, 0.0], atol=1e-9)
    assert found.multipliers["hook/force_x"] == pytest.approx(rod.mass * 9.81, rel=1e-10)
