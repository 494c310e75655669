"""Issue 11, section 5: stiffness and inertia given directly."""

import json

import numpy as np
import pytest

import elver as ev
from elver import io
from elver.errors import BadInput

LENGTH, RADIUS = 0.4, 8e-3
silicone = ev.Material(young=1.0e6, shear=0.35e6, density=1070.0)
AREA, I = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
EI, GJ, EA, GA = 1.0e6 * I, 0.35e6 * 2 * I, 1.0e6 * AREA, 0.35e6 * AREA
MASS = 1070.0 * AREA
GIVEN = ev.Section(EA=EA, EI_y=EI, EI_z=EI, GJ=GJ, GA_y=GA, GA_z=GA, mass=MASS, inertia=1070.0 * I)


def system(section, material=None, basis=None):
    rod = ev.Rod(LENGTH, section, material, basis or ev.Legendre.reissner(4), name="arm")
    return ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity(), ev.PointWrench(rod, force=(0.0, 0.01, 0.0))])


def test_numbers_of_a_circle_give_the_rod_of_a_circle():
    """Same stiffness and inertia, same rod: to rounding."""
    one, other = system(ev.Circle(RADIUS), silicone), system(GIVEN)
    s = np.linspace(0, LENGTH, 5)
    assert other.rod.stiffness(s) == pytest.approx(one.rod.stiffness(s), rel=1e-14)
    assert other.rod.inertia(s) == pytest.approx(one.rod.inertia(s), rel=1e-14)
    assert ev.equilibrium(other).tip == pytest.approx(ev.equilibrium(one).tip, abs=1e-12)
    rest = other.rest()
    assert ev.mass_matrix(other, rest) == pytest.approx(ev.mass_matrix(one, one.rest()), rel=1e-12)


def test_without_a_material_the_cantilever_is_that_of_the_books():
    """Tip F L³ / (3 EI) and first frequency 1.8751² / (2 π L²) √(EI / m), for a slender rod; Timoshenko."""
    section = ev.Section(EI_y=2e-3, EI_z=5e-3, mass=0.2, inertia=1e-9)
    rod = ev.Rod(1.0, section, basis=ev.Legendre(bending=6), name="arm")
    force = 1e-5
    loaded = ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, force=(0.0, 0.0, force))])
    tip = ev.equilibrium(loaded).tip[2, 3]
    assert tip == pytest.approx(force / (3 * 2e-3), rel=1e-5)  # truncation: (F L² / EI)² of large deflection
    bare = ev.System(ev.Mechanism.clamped(rod))
    first = ev.modes(bare, bare.rest(), count=1).frequencies[0]
    assert first == pytest.approx(1.8751040687**2 / (2 * np.pi) * np.sqrt(2e-3 / 0.2), rel=1e-6)
    assert rod.mass == pytest.approx(0.2)


def test_what_varies_along_the_rod():
    rod = ev.Rod(1.0, ev.Section(EI_y=ev.Taper(2e-3, 1e-3), EI_z=lambda s: 1e-3 + 0 * s, mass=ev.Taper(0.2, 0.1)),
                 basis=ev.Legendre(bending=2))  # fmt: skip
    assert rod.stiffness([0.0, 1.0])[:, 1] == pytest.approx([2e-3, 1e-3])
    assert rod.mass == pytest.approx(0.15)


def test_files(tmp_path):
    """There and back, by model file and by JSON; the schema knows the keys."""
    whole = system(GIVEN)
    for again in (
        ev.load_model(ev.save_model(tmp_path / "arm.toml", whole)).system,
        io.loads(io.dumps(whole)),
    ):
        assert np.array_equal(again.rod.stiffness([0.1]), whole.rod.stiffness([0.1]))
        assert np.array_equal(again.rod.inertia([0.1]), whole.rod.inertia([0.1]))
    text = """
    [rods.arm]
    length = "40 cm"
    section = { type = "Section", EI_y = "2 N mm^2", EI_z = 2e-6, mass = "200 g/m", inertia = [2e-9, 1e-9, 1e-9] }
    basis = { type = "Legendre", bending = 2 }
    [mechanism]
    clamped = "arm"
    """
    (tmp_path / "short.toml").write_text(text, encoding="utf-8")
    rod = ev.load_model(tmp_path / "short.toml").system.rod
    assert rod.stiffness([0.0])[0, 1:3] == pytest.approx([2e-6, 2e-6])
    assert rod.inertia([0.0])[0] == pytest.approx([2e-9, 1e-9, 1e-9, 0.2, 0.2, 0.2])
    assert "EI_y" in json.dumps(io.model_schema())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ev.Section(EI_y=1.0), "mass .kg/m. is missing"),
        (lambda: ev.Section(mass=1.0), "mass without any stiffness"),
        (lambda: ev.Section(1e-4, 1e-9, 1e-9, 2e-9, EI_y=1.0, mass=1.0), "EI_y beside I_y"),
        (lambda: ev.Section(1e-4, 1e-9), "I_z is missing"),
        (lambda: ev.Section(), "area is missing"),
        (lambda: ev.Section(EI_y=-1.0, mass=1.0), "EI_y = -1 N m2: must be greater than zero"),
        (lambda: ev.Section(EI_y=1.0, mass=1.0, inertia=(1.0, 2.0)), "inertia has shape"),
        (lambda: system(ev.Section(EI_y=1.0, EI_z=1.0, GJ=1.0, mass=1.0)), "EA .N. of its section is missing"),
        (lambda: system(ev.Section(EI_y=1.0, mass=1.0), basis=ev.Legendre(bending=2)), "EI_z .N m2. .* K_z change"),
        (lambda: ev.Rod(0.4, ev.Circle(8e-3), basis=ev.Legendre(2)), "material = None cannot be used"),
        (lambda: ev.Rod(0.4, ev.Circle(8e-3), silicone), "basis = None cannot be used"),
    ],
)
def test_what_does_not_fit_is_told(make, words):
    with pytest.raises(BadInput, match=words):
        make()


def test_half_widths_for_drawing():
    """A round section: 2 √(EI/EA) is its radius; given ones win; a hundredth of the length where nothing is known."""
    assert GIVEN.half_widths([0.0], LENGTH)[0] == pytest.approx(RADIUS)
    wide = ev.Section(EI_y=1.0, EI_z=1.0, mass=1.0, half_y=0.02, half_z=0.01)
    assert np.ravel(wide.half_widths([0.0], 1.0)) == pytest.approx([0.02, 0.01])
    assert np.ravel(ev.Section(EI_y=1.0, EI_z=1.0, mass=1.0).half_widths([0.0], 3.0)) == pytest.approx([0.03, 0.03])


def test_damping_is_that_of_a_material_that_is_given():
    damped = ev.Material(young=1.0e6, shear=0.35e6, density=1070.0, damping=0.01)
    rod = ev.Rod(LENGTH, GIVEN, damped, ev.Legendre(bending=2))
    assert rod.damping([0.0]) == pytest.approx(0.01 * rod.stiffness([0.0]))
