"""Every description can be written down by walking its fields; callables are the exception."""

import dataclasses

import numpy as np
import pytest

from elver.rods import (
    Circle,
    Ellipse,
    Legendre,
    Material,
    PiecewiseLinear,
    Rectangle,
    Rod,
    Sampled,
    Section,
    Spectral,
    Taper,
    Tube,
)

STEEL = Material(young=np.float64(2e11), density=7800, shear=8e10)
LINE = np.linspace(0.0, 1.0, 7)


def plain(value):
    """True when a value consists of numbers, texts, None, tuples and dataclasses of such."""
    if dataclasses.is_dataclass(value):
        return all(plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        return all(plain(entry) for entry in value)
    return value is None or type(value) in (float, int, str)


@pytest.mark.parametrize(
    "rod",
    [
        Rod(1, Circle(np.float64(0.01)), STEEL, Legendre.kirchhoff(np.int64(3)), rest=np.array([0, 0, 1.0])),
        Rod(1, Tube(Taper(0.02, 0.01), 0.005), STEEL, PiecewiseLinear.planar([0.2, 0.5]), nodes=np.int64(9)),
        Rod(1, Ellipse(0.01, 0.02), STEEL, Sampled.planar(LINE, np.cos(LINE)), integration=Spectral()),
        Rod(
            1, Rectangle(0.01, 0.02, shear_correction=[5 / 6, 1]), STEEL, PiecewiseLinear.planar(np.int64(4))
        ),
        Rod(1, Section(1, 1, 1, 2, half_y=np.float32(0.5)), STEEL, Legendre(stretch=2)),
    ],
)
def test_a_rod_without_callables_is_plain_data(rod):
    assert plain(rod)
    again = dataclasses.replace(rod)
    assert np.array_equal(again.grid.s, rod.grid.s)
    assert np.array_equal(again.stiffness(again.grid.s), rod.stiffness(rod.grid.s))
