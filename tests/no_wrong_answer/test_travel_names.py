"""Systems travel (issue list, section 4): every name means one thing, and the kernel cache knows no place."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elver as ev
from elver.kernels.build.cache import cache_folder
from elver.mechanism.naming import numbered

SOFT = ev.Material(young=1e6, poisson=0.45, density=1070.0)


def a_rod(name="arm"):
    return ev.Rod(0.4, ev.Circle(8e-3), SOFT, ev.Legendre(bending=3), name=name)


# ------------------------------------------------------------------------------------------------------------- names


@given(st.lists(st.sampled_from(["a", "b", "a-1", "a-2", "a-1-1", "b-1"]), max_size=9))
def test_numbered_names_are_unique(names):
    """Any names: each once, those that were unique stay, and the same list gives the same names."""
    found = numbered(names)
    assert len(set(found)) == len(names)
    assert all(new == old for new, old in zip(found, names, strict=True) if names.count(old) == 1)
    assert found == numbered(names)


def test_loads_whose_names_collide(tmp_path):
    """"a", "a", "a-1" gave two inputs named "a-1", of which the first was meant, silently."""
    arm = a_rod()
    forces = [(0.0, 1e-3, 0.0), (0.0, 0.0, 1e-3), (0.0, -1e-2, 0.0)]
    loads = [ev.PointWrench(arm, force=f, name=name) for f, name in zip(forces, ("a", "a", "a-1"), strict=True)]
    system = ev.System(ev.Mechanism.clamped(arm), loads=loads)
    assert system.channel_names == ("a-2", "a-3", "a-1")
    off = dict.fromkeys(loads, 0.0)
    for name, load in zip(system.channel_names, loads, strict=True):
        by_name = ev.equilibrium(system, {**off, name: 1.0}).tip
        np.testing.assert_array_equal(by_name, ev.equilibrium(system, {**off, load: 1.0}).tip)
    run = ev.simulate(system, duration=0.02, step=1e-2)
    assert len(set(run["input"].values)) == 3
    # a model file and the model of a run give the same names to the same loads
    path = ev.save_model(tmp_path / "model.toml", system)
    for again in (ev.load_model(path).system, ev.io.loads(run.attrs["model"])):
        assert again.channel_names == system.channel_names
        assert [load.force for load in again.loads] == [load.force for load in loads]


def test_actuators_and_loads_share_one_list_of_names():
    """A tendon and a load of one name, and names that others are given by default."""
    arm = a_rod()
    tendon = ev.Tendon(arm, ev.parallel(z=6e-3), name="gravity")
    system = ev.System(ev.Mechanism.clamped(arm), [tendon], [ev.Gravity(), ev.PointWrench(arm, name="gravity-1")])
    assert len(set(system.channel_names)) == 3
    spools = [ev.SpooledTendon(arm, ev.parallel(z=z), name="rope") for z in (-6e-3, 6e-3)]
    system = ev.System(ev.Mechanism.clamped(arm), spools)
    assert [name for name, _ in system.multipliers] == ["rope-1/tension", "rope-2/tension"]


def test_holds_without_a_name_keep_clear_of_those_with_one():
    """[Hold(name="hold-2"), Hold()] were both "hold-2": one reaction hid the other."""
    arm = a_rod()
    holds = [ev.Hold(0.2, position=(None, 0.0, None), name="hold-2"), ev.Hold("tip", position=(None, 0.0, None))]
    system = ev.System(ev.Mechanism.clamped(arm, holds=holds), loads=[ev.PointWrench(arm, 0.3, force=(0.0, 1e-3, 0.0))])
    assert [name for name, _ in system.multipliers] == ["hold-2/force_y", "hold-3/force_y"]
    assert len(ev.equilibrium(system).multipliers) == 2
    holds = [ev.Hold("tip", position=(None, 0.0, None), name="foot")]
    joints = [ev.Fixed("world", (arm, "base"), name="foot")]
    with pytest.raises(ev.BadInput, match="a hold and a joint are both named 'foot'"):
        ev.Mechanism(joints, holds=holds)
    joints = [ev.Fixed("world", (arm, "base"), name="hold-1")]
    free = ev.Mechanism(joints, holds=[ev.Hold("tip", position=(None, 0.0, None))])
    assert free.hold_names == ("hold-2",)


def test_joints_without_a_name_keep_clear_of_those_with_one():
    """An unnamed joint was called like another, and refused for a name that nobody had given it."""
    arm, other = a_rod(), a_rod("other")
    joints = [
        ev.Revolute("world", (arm, "base"), axis="z", name="revolute-2"),
        ev.Revolute((arm, "tip"), (other, "base"), axis="z"),
    ]
    mechanism = ev.Mechanism(joints)
    assert [joint.name for joint in mechanism.joints] == ["revolute-2", "revolute-3"]
    motor = ev.Motor(joints[1])
    assert ev.System(mechanism, [motor]).coordinates(joints[1]) != ev.System(mechanism).coordinates(joints[0])


def test_parts_joints_and_their_coordinates():
    """Parts and joints have names of their own kind; a joint called like a rod shares no coordinate name with it."""
    with pytest.raises(ev.BadInput, match="two parts are named 'arm'"):
        ev.Mechanism([ev.Fixed("world", (first := a_rod(), "base")), ev.Fixed((first, "tip"), (a_rod(), "base"))])
    arm = a_rod()
    joint = ev.Spherical("world", (arm, "base"), name="arm")
    system = ev.System(ev.Mechanism([joint]), [*ev.Imposed.all(joint), *ev.Imposed.all(arm)])
    assert len(set(system.coordinate_names)) == system.n
    assert len(set(system.channel_names)) == len(system.channels)


# ------------------------------------------------------------------------------------------------------------- cache


def test_a_second_installation_compiles_nothing(tmp_path):
    """The cache of kernels was named after the place of the sources: a second venv compiled anew."""
    arm = a_rod()
    ev.mass_matrix(system := ev.System(ev.Mechanism.clamped(arm)), system.rest())  # what is used below is compiled
    shutil.copytree(cache_folder, tmp_path / "cache" / cache_folder.name)
    shutil.copytree(Path(ev.__file__).parent, tmp_path / "elsewhere" / "elver", ignore=shutil.ignore_patterns("__py*"))
    code = (
        "import elver as ev\n"
        "m = ev.Material(young=1e6, poisson=0.45, density=1070.0)\n"
        "arm = ev.Rod(0.4, ev.Circle(8e-3), m, ev.Legendre(bending=3), name='arm')\n"
        "system = ev.System(ev.Mechanism.clamped(arm))\n"
        "print(ev.__file__, ev.mass_matrix(system, system.rest())[0, 0].hex())"
    )
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*")}
    where = {"PYTHONPATH": str(tmp_path / "elsewhere"), "ELVER_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **where}, capture_output=True, text=True, check=True
    )
    file, value = done.stdout.split()
    assert file.startswith(str(tmp_path / "elsewhere"))
    assert value == ev.mass_matrix(system, system.rest())[0, 0].hex()
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert sum(name.endswith(".code") for name in after) > 0
    assert [name for name, changed in after.items() if before.get(name) != changed] == []
