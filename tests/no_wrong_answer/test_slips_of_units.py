"""Issue 11, section 5, "Millimetres and degrees": likely slips are caught with a question that names them."""

import warnings

import numpy as np
import pytest

import elver as ev
from elver.errors import BadInput, ElverWarning, UnitWarning

silicone = ev.Material(young=1.0e6, poisson=0.45, density=1070.0)
basis = ev.Legendre(bending=2)
link = ev.RigidBody(0.1, name="link")
hinge = ev.Revolute("world", link, name="hinge")


def rod(length=0.4, section=None, material=silicone):
    return ev.Rod(length, section or ev.Circle(8e-3), material, basis, name="arm")


finger = rod()
blown = ev.System(ev.Mechanism.clamped(finger), [ev.Pressure(finger, 2e-5, ev.parallel(z=4e-3), name="air")])


@pytest.mark.parametrize(
    ("make", "question"),
    [
        (lambda: rod(section=ev.Circle(8)), r"radius = 8 m on a rod of 0.4 m: millimetres\? write 8e-3"),
        (lambda: rod(section=ev.Rectangle(8, 2)), r"width_y = 8 m on a rod of 0.4 m: millimetres\? write 8e-3"),
        (lambda: rod(section=ev.Tube(8, 7)), r"outer = 8 m .*millimetres\?"),
        (lambda: ev.Revolute("world", link, start=90), r"90 rad .*degrees"),
        (lambda: ev.MDHRow(90.0, 0.0, 0.0, 0.0), r"90 rad .*degrees"),
    ],
)
def test_what_no_one_can_mean_is_refused(make, question):
    with pytest.raises(BadInput, match=question):
        make()


@pytest.mark.parametrize(
    ("make", "question"),
    [
        (lambda: ev.Material(young=1.0, poisson=0.45, density=1070.0), r"young = 1 Pa .*MPa\? write young=1e6"),
        (lambda: ev.Material(young=1e6, poisson=0.45, density=1.07), r"1.07 kg/m3, .*g/cm3\? write density=1070"),
        (lambda: ev.Material(young=2.1e11, poisson=0.3, density=7.8), r"g/cm3\? write density=7800"),
        (lambda: ev.Material(young=2.1e17, poisson=0.3, density=7800.0), r"stiffer for its weight than diamond"),
        (lambda: rod(length=400.0), r"length = 400 m .*millimetres\? write length=0.4"),
        (lambda: rod(section=ev.Circle(0.5)), r"radius = 0.5 m on a rod of 0.4 m: millimetres\? write 0.5e-3"),
        (lambda: rod(section=ev.Circle(0.1)), r"no slender body"),
        (lambda: ev.Tendon(rod(), ev.parallel(z=6)), r"6 m from the axis .*millimetres\? write 0.006"),
        (lambda: ev.Gravity((0, 0, -9810)), r"9810 m/s2: mm/s2\? write 9.81"),
        (lambda: ev.JointStop(hinge, -90, 90, stiffness=1.0), r"lower = -90 rad .*degrees\? write -1.5708"),
        (lambda: ev.JointSpring(hinge, 1.0, rest=45), r"rest = 45 rad .*degrees\?"),
        (lambda: ev.Material(young=1e6, poisson=0.45, density=1.0), r"g/cm3\? write density=1000"),
        (lambda: ev.RigidBody.sphere(0.02, density=7.8), r"'body' = 7.8 kg/m3, .*g/cm3\? write density=7800"),
        (lambda: ev.RigidBody.box((0.1, 0.1, 0.1), density=1.0), r"g/cm3\? write density=1000"),
        (lambda: ev.Buoyancy(fluid_density=1.025), r"water in g/cm3\? write 1025"),
        (lambda: ev.Morison(fluid_density=1.0), r"water in g/cm3\? write 1000"),
        (lambda: ev.Pressure(rod(), 20.0, ev.parallel(z=4e-3)), r"area = 20 m2 .*: mm2\? write 2e-05"),
        (lambda: ev.Pressure(rod(), 0.2, ev.parallel(z=4e-3)), r"area = 0.2 m2 .*: cm2\? write 2e-05"),
        (lambda: ev.equilibrium(blown, {"air": 50.0}), r"'air' = 50 Pa, .* by 0.0005 only: kPa\? write 50000"),
        (lambda: ev.equilibrium(blown, {"air": 0.5}), r"'air' = 0.5 Pa, .*: bar\? write 50000"),
        (lambda: ev.simulate(blown, duration=0.01, inputs={"air": -1}), r"'air' = -1 Pa, .*: bar\? write -100000"),
    ],
)
def test_what_is_probably_a_slip_is_asked_about(make, question):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnitWarning)
        make()  # it can be silenced, for models of another scale
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        make()
    asked = [warning for warning in heard if issubclass(warning.category, UnitWarning)]
    assert asked, "nobody asked"
    with pytest.raises(UnitWarning, match=question):
        raise asked[0].message
    assert asked[0].filename == __file__, "the question points at the line of the user"


MODEL = """
[materials.silicone]
young = 1e6
poisson = 0.45
density = 1070
[rods.arm]
length = 0.4
section = {{ type = "Circle", radius = 8e-3 }}
material = "silicone"
basis = {{ type = "Legendre", bending = 2 }}
[mechanism]
clamped = "arm"
pose = {{ axis = "y", angle = {angle} }}
"""


def test_degrees_in_a_model_file(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(MODEL.format(angle=90), encoding="utf-8")
    with pytest.raises(BadInput, match='angle: 90 rad is more than two turns: degrees\\? write "90 deg"'):
        ev.load_model(path)
    for meant, radians in (('"90 deg"', np.pi / 2), ('"90 rad"', 90.0), ("1.5", 1.5)):
        path.write_text(MODEL.format(angle=meant), encoding="utf-8")
        g = ev.load_model(path).system.mechanism.base.g
        assert g[0, 0] == pytest.approx(np.cos(radians), abs=1e-12)


@pytest.mark.parametrize(
    ("length", "radius", "young", "density"),
    [
        (1.0, 1e-3, 210e9, 7800.0),  # a wire of steel
        (1000.0, 0.05, 1e9, 1000.0),  # a mooring line
        (1e-6, 1e-8, 1e9, 1000.0),  # a fibre of a micrometre
        (0.05, 5e-3, 1e3, 1000.0),  # a finger of gel
        (1.0, 0.01, 1.0, 1.0),  # without dimensions
        (1.0, 1.0, 4.0 / np.pi, 1.0),  # without dimensions, with a section of unit stiffness
        (10.0, 0.0625e-3 * 5, 7e10, 2200.0),  # a fibre of glass
        (0.4, 8e-3, 1e6, 120.0),  # balsa, cork, foam
        (0.1, 0.5e-4, 1e12, 1400.0),  # a nanotube, scaled
    ],
)
def test_rods_that_exist_are_not_asked_about(length, radius, young, density):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ElverWarning)
        rod(length, ev.Circle(radius), ev.Material(young=young, poisson=0.3, density=density))


def test_a_ribbon_may_be_wide():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ElverWarning)
        rod(0.1, ev.Rectangle(0.05, 1e-4))


def test_what_exists_is_not_asked_about():
    """Air, foam, a body without dimensions; pressures that work, are off, are tiny, or begin at zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ElverWarning)
        ev.Buoyancy(fluid_density=1.2)
        ev.RigidBody.sphere(0.02, density=30.0)
        ev.RigidBody.box((1.0, 1.0, 1.0), density=1.0)
        for pressure in (0.0, 5e4, -2e4, 200.0, 1e-4, lambda t: 100.0 * t):
            blown.signals({"air": pressure})
