"""A joint is one class: what is declared there is all that trees, loops, motion, files of runs and drawings ask for."""

from __future__ import annotations

import numpy as np
import pytest

import elver as ev
from elver.mechanism import Joint

HEIGHT = 0.2 * np.sin(0.3)
BAR = ev.RigidBody(mass=0.4, inertia=(1e-4, 0.02, 0.02), centre=(0.3, 0.0, 0.0), name="bar")


class Slot(Joint):
    """A pin in a slot: a shift along x of frame a, and a turn about the axis."""

    motion = ((3,), (2,))
    coordinate_names = ("shift", "angle")
    closure_rows = (("dot", 0, 2), ("dot", 1, 2), ("position", 1), ("position", 2))


def shifted(x, y):
    g = np.eye(4)
    g[:2, 3] = x, y
    return g


def hanging(**more):
    joint = Slot("world", BAR, name="slot", **more)
    return ev.System(ev.Mechanism([joint]), loads=[ev.Gravity(acceleration=(0.0, -9.81, 0.0))])


def test_it_moves_as_the_equations_of_a_pendulum_on_a_slide_say():
    """Nothing pushes along the slot: the mass centre falls straight, and energy is kept."""
    system = hanging(start=(0.1, -0.4))
    assert list(system.coordinate_names) == ["slot/shift", "slot/angle"]
    run = ev.simulate(system, system.rest(), duration=1.0, step=2e-3)
    x, angle = run["q"].values.T
    centre = x + 0.3 * np.cos(angle)
    np.testing.assert_allclose(centre, centre[0], atol=1e-9)
    total = run["energy/total"].values
    np.testing.assert_allclose(total, total[0], atol=1e-9)
    # m v²/2 + J w²/2 with v = -0.3 cos(a) w downwards, from rest
    rate = run["q_dot"].values[:, 1]
    fallen = 0.4 * 9.81 * 0.3 * (np.sin(angle[0]) - np.sin(angle))
    np.testing.assert_allclose(0.5 * (0.02 + 0.4 * (0.3 * np.cos(angle)) ** 2) * rate**2, fallen, atol=1e-9)


@pytest.mark.filterwarnings("ignore:redundant:elver.errors.ElverWarning")
def test_where_it_closes_a_loop_it_holds_what_its_rows_say():
    """A crank whose pin slides in a slot: the tree may go either way round."""
    crank = ev.RigidBody(mass=0.2, inertia=(1e-4, 1e-3, 1e-3), centre=(0.1, 0.0, 0.0), name="crank")
    heights = []
    for cut in (0, 1):
        shoulder = ev.Revolute("world", crank, name="shoulder", start=(0.3,), cut=bool(cut))
        pin = ev.Frame(crank, pose=shifted(0.2, 0.0))
        start = (0.2 * np.cos(0.3), 0.3)
        slot = Slot(ev.Frame("world", pose=shifted(0.0, HEIGHT)), pin, name="slot", cut=not cut, start=start)
        system = ev.System(ev.Mechanism([shoulder, slot]))
        heights.append((ev.poses(system, ev.assemble(system), crank) @ shifted(0.2, 0.0))[1, 3])
        assert "slot" in system.mechanism.explain()
    np.testing.assert_allclose(heights, HEIGHT, atol=1e-9)


def test_a_wrong_start_is_named_by_its_coordinates():
    with pytest.raises(ev.BadInput, match=r"slot 'slot': start = 1.0: give 2 numbers, shift \[m\], angle \[rad\]"):
        hanging(start=1.0)
