"""Materials: moduli and their refusals."""

import pytest

from elver.errors import BadInput
from elver.rods import Material


def test_shear_modulus_follows_poisson_unless_given():
    assert Material(young=3.0, density=1.0, poisson=0.5).shear_modulus == pytest.approx(1.0)
    assert Material(young=3.0, density=1.0, shear=7.0).shear_modulus == 7.0
    assert Material(young=3.0, density=1.0, poisson=0.5, shear=7.0).shear_modulus == 7.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"young": float("nan")}, r"young = nan Pa: must be a finite number"),
        ({"young": -1e6}, r"young = -1e\+06 Pa: must be greater than zero"),
        ({"young": float("inf")}, r"young = inf Pa: must be a finite number"),
        ({"young": "soft"}, r"young = 'soft': expected a number in Pa"),
        ({"density": 0.0}, r"density = 0 kg/m3: must be greater than zero"),
        ({"density": float("-inf")}, r"density = -inf kg/m3: must be a finite number"),
        ({"poisson": 0.6}, r"poisson = 0.6 \(dimensionless\): must lie in \(-1, 0.5\].*give shear in Pa"),
        ({"poisson": -1.0}, r"poisson = -1 \(dimensionless\): must lie in"),
        ({"poisson": float("nan")}, r"poisson contains nan \(dimensionless\)"),
        ({"poisson": None}, r"neither poisson \[-\] nor shear \[Pa\]: give one of them"),
        ({"shear": -2.0}, r"shear = -2 Pa: must be greater than zero"),
        ({"damping": -0.1}, r"damping = -0.1 s: must not be negative"),
    ],
)
def test_bad_material_is_refused_with_value_and_unit(changes, message):
    good = {"young": 1e6, "density": 1070.0, "poisson": 0.45}
    with pytest.raises(BadInput, match=message):
        Material(**{**good, **changes})
