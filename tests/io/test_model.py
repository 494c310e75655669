"""Models become JSON and models again, with shared parts shared and functions sampled."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from elver import actuation, environment, mechanism, rods
from elver.errors import BadInput
from elver.io import Table, decode, dumps, encode, loads


@dataclass(frozen=True)
class Disc:
    radius: float | Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Beam:
    length: float
    section: Disc
    rest: Any = None
    name: str = "beam"
    nodes: tuple[int, ...] = (3, 4)
    stiffness: float = field(init=False, default=0.0)

    def __post_init__(self):
        object.__setattr__(self, "stiffness", 2.0 * self.length)


@dataclass(frozen=True)
class Pull:
    rod: Beam
    tension: float | Callable[[float], float] = 1.0


@dataclass(frozen=True)
class Robot:
    beam: Beam
    pulls: tuple[Pull, ...] = ()
    inputs: Any = None


CLASSES = {"Disc": Disc, "Beam": Beam, "Pull": Pull, "Robot": Robot}


def round_trip(model, **options):
    return loads(dumps(model, **options), classes=CLASSES)


def test_values_come_back():
    rest = np.array([[0.0, np.inf], [np.nan, -1.5]])
    beam = round_trip(Beam(0.4, Disc(0.1 + 0.2), rest=rest, nodes=(7,)))
    assert beam.length == 0.4
    assert beam.section.radius == 0.1 + 0.2  # to the last bit
    assert beam.nodes == (7,)
    assert beam.stiffness == 0.8
    np.testing.assert_array_equal(beam.rest, rest)


@pytest.mark.parametrize(
    "array", [np.arange(3), np.zeros((0, 6)), np.eye(4), np.array([True, False]), np.array(2.5)]
)
def test_arrays_keep_shape_and_type(array):
    back = decode(json.loads(json.dumps(encode(array))))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_shared_parts_are_shared_again():
    beam = Beam(1.0, Disc(0.01))
    pull = Pull(beam, 5.0)
    robot = round_trip(Robot(beam, (pull, Pull(Beam(1.0, Disc(0.01)))), inputs={pull: 3.0, "gravity": 1.0}))
    assert robot.pulls[0].rod is robot.beam
    assert robot.pulls[1].rod is not robot.beam
    assert robot.inputs == {robot.pulls[0]: 3.0, "gravity": 1.0}


def test_functions_of_arc_length_are_sampled_along_the_rod():
    beam = round_trip(Beam(0.4, Disc(lambda s: 0.01 * np.exp(-s))))
    table = beam.section.radius
    assert isinstance(table, Table)
    assert table.variable == "s"
    assert "[0, 0.4] m" in table.note
    s = np.linspace(0.0, 0.4, 37)
    # cubic interpolation of 101 samples: error about h^4/384 |f''''| = 7e-15
    np.testing.assert_allclose(table(s), 0.01 * np.exp(-s), atol=1e-13)


def test_functions_of_time_are_sampled_over_the_run():
    def ramp(t):
        return min(1.0, 2.0 * t)  # takes one number only

    pull = round_trip(Pull(Beam(0.4, Disc(0.01)), ramp), duration=0.5)
    assert pull.tension.variable == "t"
    assert float(pull.tension(0.25)) == pytest.approx(0.5)
    assert float(pull.tension(9.0)) == pytest.approx(1.0)


def test_a_table_is_stored_as_it_is():
    table = Table([0.0, 1.0], [[1.0, 2.0], [3.0, 4.0]])
    again = round_trip(table)
    np.testing.assert_array_equal(again.values, table.values)
    np.testing.assert_allclose(again(0.5), [2.0, 3.0])


def test_unknown_type_is_named():
    with pytest.raises(BadInput, match=r"unknown type 'Blob'.*classes="):
        decode({"type": "Blob"})


def test_value_that_no_file_can_hold_is_named():
    with pytest.raises(BadInput, match=r"Robot\.inputs\['x'\] = an object"):
        encode(Robot(Beam(1.0, Disc(0.01)), inputs={"x": object()}))


def test_function_that_fails_is_named():
    with pytest.raises(
        BadInput, match=r"Beam\.section\.radius: the function could not be sampled on \[0, 1\] m"
    ):
        encode(Beam(1.0, Disc(lambda s: s["radius"])))


def test_broken_text_is_refused():
    with pytest.raises(BadInput, match="not valid JSON"):
        loads("{")


def test_fields_that_do_not_fit_are_named():
    with pytest.raises(BadInput, match="Disc does not accept"):
        decode({"type": "Disc", "diameter": 1.0}, classes=CLASSES)


BASES = [
    rods.Legendre(bending=4, torsion=2),
    rods.Chebyshev.kirchhoff(3),
    rods.PiecewiseConstant.kirchhoff(elements=4),
    rods.PiecewiseLinear.reissner(elements=3),
]


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_a_robot_comes_back(basis):
    material = rods.Material(young=1e6, poisson=0.45, density=1070.0)
    section = rods.Ellipse(half_y=rods.Taper(0.02, 0.01), half_z=lambda s: 0.02 * np.exp(-s))
    arm = rods.Rod(length=0.4, section=section, material=material, basis=basis, name="arm")
    robot = mechanism.Mechanism.clamped(arm, holds=(mechanism.Hold(at="tip", position=(0.1, None, 0.2)),))
    paths = [
        actuation.parallel(y=0.0, z=6e-3),
        actuation.convergent(y=0.0, z=6e-3),
        actuation.helical(radius=5e-3, turns=2.0),
        actuation.route(lambda s: np.stack([0.005 * np.cos(s), 0.005 * np.sin(s)], axis=-1)),
    ]
    tendons = [actuation.Tendon(arm, path=path, name=f"t{i}") for i, path in enumerate(paths)]
    loads_on_it = [environment.Gravity(), environment.PointWrench(arm, force=(0.0, 0.0, 1.0))]
    text = dumps((robot, tendons, loads_on_it))
    model = loads(text)
    again, tendons_again, _ = model

    assert all(tendon.rod is again.rod for tendon in tendons_again)
    s = np.linspace(0.0, 0.4, 7)
    # the sampled section and route are cubic splines of 101 samples; all else is exact
    np.testing.assert_allclose(again.rod.stiffness(s), arm.stiffness(s), rtol=1e-9)
    for tendon, tendon_again in zip(tendons, tendons_again):
        np.testing.assert_allclose(tendon_again.path(s, 0.4)[0], tendon.path(s, 0.4)[0], atol=1e-12)
    assert dumps(model) == text


def test_a_driven_base_is_sampled_over_the_run():
    def swing(instant):
        pose = np.eye(4)
        pose[2, 3] = 0.1 * np.sin(instant)
        return pose

    material = rods.Material(young=1e6, poisson=0.45, density=1070.0)
    basis = rods.Legendre.planar(3)
    arm = rods.Rod(length=0.4, section=rods.Circle(radius=0.01), material=material, basis=basis)
    robot = mechanism.Mechanism.driven(arm, mechanism.Motion(pose=swing))
    again = loads(dumps(robot, duration=2.0))
    np.testing.assert_allclose(again.base.motion.pose(1.3), swing(1.3), atol=1e-9)
