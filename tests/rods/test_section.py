"""Sections: closed forms of their properties, dimensions that vary, and refusals."""

import numpy as np
import pytest

from elver.errors import BadInput
from elver.rods import (
    Circle,
    Ellipse,
    Rectangle,
    Section,
    Taper,
    Tube,
    rectangle_torsion_constant,
)

L = 0.5
S = np.linspace(0.0, L, 5)
ROUNDING = 1e-14


def polygon_free_moments(inside, half_y, half_z, n=1200):
    """Area and second moments by counting the cells of a fine lattice: knows nothing of closed forms."""
    y = (np.arange(n) + 0.5) / n * 2 * half_y - half_y
    z = (np.arange(n) + 0.5) / n * 2 * half_z - half_z
    Y, Z = np.meshgrid(y, z, indexing="ij")
    cell = 4 * half_y * half_z / n**2 * inside(Y, Z)
    return cell.sum(), (cell * Z**2).sum(), (cell * Y**2).sum()


@pytest.mark.parametrize(
    ("section", "inside"),
    [
        (Circle(0.01), lambda y, z: y**2 + z**2 <= 0.01**2),
        (Tube(outer=0.01, inner=0.006), lambda y, z: (y**2 + z**2 <= 0.01**2) & (y**2 + z**2 >= 0.006**2)),
        (Ellipse(0.02, 0.005), lambda y, z: (y / 0.02) ** 2 + (z / 0.005) ** 2 <= 1),
        (Rectangle(0.03, 0.004), lambda y, z: np.ones_like(y, dtype=bool)),
    ],
)
def test_area_and_second_moments_agree_with_a_lattice(section, inside):
    p = section.properties(S, L)
    half_y, half_z = section.half_widths(S, L)
    lattice = polygon_free_moments(inside, half_y[0], half_z[0])
    # Truncation of the lattice at curved borders.
    assert (p.area[0], p.I_y[0], p.I_z[0]) == pytest.approx(lattice, rel=2e-4)
    assert all(field.shape == S.shape for field in (p.area, p.I_y, p.I_z, p.torsion_constant, p.k_y, p.k_z))


def test_round_sections_twist_with_their_polar_moment():
    for section in (Circle(0.01), Tube(0.01, 0.007), Ellipse(0.01, 0.01)):
        p = section.properties(0.1, L)
        assert p.torsion_constant == pytest.approx(p.I_polar, rel=ROUNDING)


def test_ellipse_torsion_constant():
    p = Ellipse(0.02, 0.005).properties(0.0, L)
    assert p.torsion_constant[0] == pytest.approx(
        np.pi * 0.02**3 * 0.005**3 / (0.02**2 + 0.005**2), rel=ROUNDING
    )
    assert p.torsion_constant[0] < p.I_polar[0]


def test_rectangle_torsion_constant_of_a_square_and_of_a_strip():
    # Timoshenko and Goodier: 0.1406 a^4 for a square, a b^3 / 3 for a thin strip, 0.229 a b^3 at a / b = 2.
    assert rectangle_torsion_constant(1.0, 1.0) == pytest.approx(0.140577014955, rel=1e-11)
    assert rectangle_torsion_constant(2.0, 1.0) / 2.0 == pytest.approx(0.229, abs=5e-4)
    strip = rectangle_torsion_constant(1.0, 1e-6)
    assert strip == pytest.approx(1e-18 / 3.0, rel=1e-6)
    assert rectangle_torsion_constant(0.3, 0.1) == pytest.approx(
        rectangle_torsion_constant(0.1, 0.3), rel=ROUNDING
    )


def test_rectangle_series_against_its_plain_sum():
    a, b = 0.013, 0.011
    n = np.arange(1, 20001, 2)
    plain = a * b**3 * (1 / 3 - 64 / np.pi**5 * b / a * np.sum(np.tanh(n * np.pi * a / 2 / b) / n**5.0))
    assert rectangle_torsion_constant(a, b) == pytest.approx(plain, rel=1e-13)


def test_i_y_goes_with_z():
    p = Rectangle(width_y=0.03, width_z=0.004).properties(0.0, L)
    assert p.I_y[0] == pytest.approx(0.03 * 0.004**3 / 12)
    assert p.I_z[0] > p.I_y[0]


def test_given_torsion_constant_and_shear_correction_win():
    p = Rectangle(0.03, 0.004, torsion_constant=2e-10, shear_correction=(5 / 6, 0.8)).properties(S, L)
    assert np.all(p.torsion_constant == 2e-10)
    assert np.all(p.k_y == 5 / 6)
    assert np.all(p.k_z == 0.8)
    assert np.all(Circle(0.01, shear_correction=27 / 28).properties(S, L).k_z == 27 / 28)


def test_taper_and_callable_are_the_same_cone():
    cone = Circle(Taper(0.02, 0.01)).properties(S, L)
    same = Circle(lambda s: 0.02 - 0.01 * s / L).properties(S, L)
    for name in ("area", "I_y", "I_z", "torsion_constant"):
        assert getattr(cone, name) == pytest.approx(getattr(same, name), rel=ROUNDING)
    assert cone.area[0] == pytest.approx(np.pi * 0.02**2)
    assert cone.area[-1] == pytest.approx(np.pi * 0.01**2)


def test_general_section_returns_what_was_given_and_a_fitting_outline():
    round_one = Section(area=np.pi, I_y=np.pi / 4, I_z=np.pi / 4, torsion_constant=np.pi / 2)
    p = round_one.properties(S, L)
    assert (p.area[0], p.I_y[0], p.I_z[0], p.torsion_constant[0]) == (np.pi, np.pi / 4, np.pi / 4, np.pi / 2)
    assert round_one.half_widths(S, L)[0] == pytest.approx(np.ones(5))
    given = Section(1.0, 1.0, 1.0, 1.0, half_y=0.1, half_z=Taper(0.2, 0.1))
    assert given.half_widths(S, L)[0][0] == 0.1
    assert given.half_widths(S, L)[1][-1] == pytest.approx(0.1)


def test_reach_is_one_on_the_surface():
    y, z = np.array([0.006]), np.array([0.008])
    assert Circle(0.01).reach(0.0, L, y, z)[0] == pytest.approx(1.0)
    assert Tube(0.01, 0.005).reach(0.0, L, y, z)[0] == pytest.approx(1.0)
    assert Rectangle(0.012, 0.02).reach(0.0, L, y, z)[0] == pytest.approx(1.0)
    assert Section(1.0, 1.0, 1.0, 1.0, half_y=0.006, half_z=0.1).reach(0.0, L, y, z)[0] == pytest.approx(1.0)


def test_sections_are_values():
    assert Circle(radius=1) == Circle(radius=1.0)
    assert hash(Tube(2.0, 1.0)) == hash(Tube(2.0, 1.0))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Circle(-0.01), r"radius = -0.01 m: must be greater than zero"),
        (lambda: Circle(float("nan")), r"radius = nan m: must be a finite number"),
        (
            lambda: Tube(0.01, 0.02),
            r"inner = 0.02 m is not smaller than outer = 0.01 m.*Circle for a solid rod",
        ),
        (lambda: Ellipse(0.01, 0.0), r"half_z = 0 m: must be greater than zero"),
        (lambda: Rectangle(float("inf"), 0.1), r"width_y = inf m: must be a finite number"),
        (lambda: Section(1.0, -1.0, 1.0, 1.0), r"I_y = -1 m4: must be greater than zero"),
        (lambda: Section(1.0, 1.0, 1.0, None), r"torsion_constant is missing: give J_t in m4"),
        (lambda: Circle(0.01, torsion_constant=-1.0), r"torsion_constant = -1 m4: must be greater than zero"),
        (
            lambda: Circle(0.01, shear_correction=0.0),
            r"shear_correction = 0 \(dimensionless\): must be greater",
        ),
        (lambda: Circle(0.01, shear_correction=(1, 1, 1)), r"shear_correction = .*pair \(k_y, k_z\)"),
        (lambda: Taper(0.01, -0.01), r"taper tip = -0.01 .*must be greater than zero"),
        (lambda: Taper(float("nan"), 1.0), r"taper base = nan"),
    ],
)
def test_bad_dimensions_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            Circle(lambda s: 0.1 - s),
            r"radius = -0.025 m at s = 0.125 m: must be greater than zero; let the callable",
        ),
        (
            Circle(lambda s: np.sqrt(s - 0.2)),
            r"radius: the callable returned nan m at s = 0 m; make it finite",
        ),
        (
            Circle(lambda s: np.ones(3)),
            r"radius: the callable returned shape \(3,\) for 5 positions s; return .*\(5,\)",
        ),
        (Circle(lambda s: "thick"), r"radius: the callable returned 'thick'; return numbers in m"),
        (
            Tube(Taper(0.02, 0.01), 0.015),
            r"inner = 0.015 m is not smaller than outer = 0.015 m at s = 0.25 m",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_callables_are_named_with_their_position(section, message):
    with pytest.raises(BadInput, match=message):
        section.properties(S, L)
