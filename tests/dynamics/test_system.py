"""What a system and a state refuse, and the words they use."""

from __future__ import annotations

import numpy as np
import pytest

import elver.actuation as ac
import elver.environment as en
import elver.mechanism as me
from elver.dynamics.quantities import inverse_dynamics
from elver.errors import BadInput
from elver.system import State, System


def test_an_unknown_input_is_answered_with_the_known_ones(tools):
    system = tools.system()
    with pytest.raises(
        BadInput, match="'helx' is not part of this system; its inputs are 'helix', 'gravity'"
    ):
        inverse_dynamics(system, system.rest(), {"helx": 1.0})


def test_an_actuator_of_another_system_is_named(tools):
    system, other = tools.system(), tools.system()
    with pytest.raises(BadInput, match="'helix' is not part of this system"):
        inverse_dynamics(system, system.rest(), {other.actuators[0]: 1.0})


def test_a_system_without_inputs_says_so(tools):
    system = System(me.Mechanism.clamped(tools.rod()))
    with pytest.raises(BadInput, match="no actuator and no load"):
        inverse_dynamics(system, system.rest(), {"tendon": 1.0})


def test_inputs_by_part_and_by_name_are_the_same(tools):
    system = tools.system()
    tendon, state = system.actuators[0], tools.state(system)
    np.testing.assert_array_equal(
        inverse_dynamics(system, state, {tendon: 2.0}), inverse_dynamics(system, state, {"helix": 2.0})
    )


def test_a_tendon_cannot_push(tools):
    system = tools.system()
    with pytest.raises(BadInput, match=r"-1.*N"):
        inverse_dynamics(system, system.rest(), {"helix": -1.0})


def test_a_load_on_another_rod_is_refused(tools):
    rod, other = tools.rod(name="arm"), tools.rod(name="finger")
    with pytest.raises(BadInput, match=r"'push' acts on the rod 'finger'.*\('arm'\)"):
        System(me.Mechanism.clamped(rod), loads=[en.PointWrench(other, force=(1.0, 0.0, 0.0), name="push")])
    with pytest.raises(BadInput, match="'finger'"):
        System(me.Mechanism.clamped(rod), actuators=[ac.Tendon(other, ac.parallel(0.01, 0.0))])


def test_a_state_of_another_system_is_refused(tools):
    from elver.rods import Legendre

    system, other = tools.system(), tools.system(tools.rod(Legendre.planar(3)))
    with pytest.raises(BadInput, match=r"state.q has shape \(3,\): this system needs \(8,\)"):
        inverse_dynamics(system, other.rest())


def test_a_state_without_the_multipliers_of_a_hold_is_refused(tools):
    held = tools.system(holds=(me.Hold(at="tip", position=(0.5, None, 0.1)),))
    free = tools.system()
    with pytest.raises(BadInput, match=r"state.multipliers has shape \(0,\): this system needs \(2,\)"):
        inverse_dynamics(held, free.rest())


def test_something_that_is_no_state_is_refused(tools):
    system = tools.system()
    with pytest.raises(BadInput, match="give a State"):
        inverse_dynamics(system, np.zeros(8))


def test_gravity_twice_is_refused(tools):
    with pytest.raises(BadInput, match="Gravity twice"):
        System(me.Mechanism.clamped(tools.rod()), loads=[en.Gravity(), en.Gravity((0.0, 0.0, -1.6))])


def test_the_same_part_twice_is_refused(tools):
    rod = tools.rod()
    tendon = ac.Tendon(rod, ac.parallel(0.01, 0.0))
    with pytest.raises(BadInput, match="listed twice"):
        System(me.Mechanism.clamped(rod), actuators=[tendon, tendon])


def test_parts_in_the_wrong_list_are_refused(tools):
    rod = tools.rod()
    with pytest.raises(BadInput, match="actuators contains"):
        System(me.Mechanism.clamped(rod), actuators=[en.Gravity()])
    with pytest.raises(BadInput, match="mechanism is the Rod"):
        System(rod)


def test_parts_of_one_name_are_numbered(tools):
    rod = tools.rod()
    pair = [ac.Tendon(rod, ac.parallel(y, 0.0), name="wire") for y in (0.01, -0.01)]
    system = System(me.Mechanism.clamped(rod), actuators=pair)
    assert system.channel_names == ("wire-1", "wire-2")
    assert system.label(pair[1]) == "wire-2"


def test_multipliers_have_names_and_units(tools):
    holds = (me.Hold(at="tip", position=(0.5, None, 0.1), name="pin"),)
    assert tools.system(holds=holds).multipliers == (("pin/force_x", "N"), ("pin/force_z", "N"))


def test_states_are_values():
    state = State(np.zeros(2), np.zeros(2), np.zeros(2))
    moved = state.with_(q=[1.0, 2.0])
    assert state.q.tolist() == [0.0, 0.0]
    assert moved.q.tolist() == [1.0, 2.0]
    with pytest.raises(BadInput, match="no field"):
        state.with_(position=1.0)
    with pytest.raises(BadInput, match=r"state\.q"):
        state.with_(q=[np.nan, 0.0])
