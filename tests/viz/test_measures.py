"""Curvature, strain and stress of rods: closed forms of bending, stretch and torsion."""

import numpy as np
import pytest

import elver as ev
from elver.lie import so3
from elver.viz.measures import RodMeasures, turning

STEEL = ev.Material(young=200e9, shear=80e9, density=7800.0)
S = np.linspace(0.0, 1.0, 5)


def measures(section, **change: float) -> dict[str, np.ndarray]:
    """All measures of a rod of unit length whose strains changed by constants since rest."""
    rod = ev.Rod(1.0, section, STEEL, ev.Legendre(bending=1, torsion=1, stretch=1), rest=(0.0, 0.3, 0.0, 1.0, 0.0, 0.0))
    names = rod.coordinate_names
    q = np.zeros((2, rod.n))  # two instants
    for name, value in change.items():
        q[:, names.index(f"{name}[0]")] = value
    return {name: RodMeasures(rod, S)(name, q) for name in ("curvature", "strain", "stress")}


def test_a_rod_at_rest_is_curved_but_not_strained():
    at_rest = measures(ev.Circle(2e-3))
    assert at_rest["curvature"] == pytest.approx(np.full((2, 5), 0.3))
    assert not at_rest["strain"].any()
    assert not at_rest["stress"].any()


def test_bending_about_any_axis_of_a_circle():
    for K_y, K_z in ((0.5, 0.0), (0.3, 0.4)):
        assert measures(ev.Circle(2e-3), K_y=K_y, K_z=K_z)["strain"] == pytest.approx(100.0 * 0.5 * 2e-3)


def test_half_widths_go_with_their_axes():
    """Curvature about y strains the fibres at the ends of the z axis."""
    flat = ev.Ellipse(half_y=8e-3, half_z=2e-3)
    assert measures(flat, K_y=0.5)["stress"] == pytest.approx(1e-6 * 200e9 * 0.5 * 2e-3)
    assert measures(flat, K_z=0.5)["stress"] == pytest.approx(1e-6 * 200e9 * 0.5 * 8e-3)


def test_the_outermost_fibre_of_a_rectangle_is_a_corner():
    both = measures(ev.Rectangle(width_y=6e-3, width_z=4e-3), K_y=0.5, K_z=0.2)
    assert both["strain"] == pytest.approx(100.0 * (0.5 * 2e-3 + 0.2 * 3e-3))


def test_stretch_adds_to_bending():
    pulled = measures(ev.Circle(2e-3), G_x=-1e-3, K_z=0.5)
    assert pulled["strain"] == pytest.approx(100.0 * (1e-3 + 1e-3))


def test_torsion_of_a_circle_and_of_an_ellipse():
    """τ = G κ r; of an ellipse τ = 2 T / (π a b²) with T = G κ π a³ b³ / (a² + b²), at the end of the short axis b."""
    assert measures(ev.Circle(2e-3), K_x=0.5)["stress"] == pytest.approx(1e-6 * np.sqrt(3.0) * 80e9 * 0.5 * 2e-3)
    a, b = 8e-3, 2e-3
    couple = 80e9 * 0.5 * np.pi * a**3 * b**3 / (a**2 + b**2)
    expected = 1e-6 * np.sqrt(3.0) * 2.0 * couple / (np.pi * a * b**2)
    assert measures(ev.Ellipse(a, b), K_x=0.5)["stress"] == pytest.approx(expected)
    assert measures(ev.Ellipse(b, a), K_x=0.5)["stress"] == pytest.approx(expected)


@pytest.mark.parametrize(("sides", "k"), [(1.0, 0.675), (1.5, 0.848), (2.0, 0.930), (10.0, 1.000)])
def test_torsion_of_a_rectangle(sides, k):
    """τ = k G κ b with the shorter side b: the table of Timoshenko and Goodier, three digits."""
    stress = measures(ev.Rectangle(sides * 4e-3, 4e-3), K_x=0.5)["stress"]
    assert stress == pytest.approx(1e-6 * np.sqrt(3.0) * k * 80e9 * 0.5 * 4e-3, rel=3.1e-3)


def test_curvature_of_frames_leaves_torsion_out():
    """Sections of a helix of curvature 3 and torsion 2 [1/m], 1 mm apart: neighbours turn by 3.6e-3 rad."""
    s = np.linspace(0.0, 0.1, 101)
    frames = so3.exp(np.outer(s, [2.0, 0.0, 3.0]))
    assert turning(s, frames, S * 0.1) == pytest.approx(3.0, rel=1e-5)  # second order in the turn
