"""Free tops and the flight of a mass centre: conservation laws and independent solutions."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.special import ellipj

from elver import analytic
from elver.errors import BadInput
from elver.lie import so3

T = np.linspace(0.0, 10.0, 21)


@pytest.mark.parametrize(("axial", "transverse"), [(1.0, 2.0), (3.0, 1.0), (2.0, 2.0)])
def test_symmetric_top_agrees_with_integration(axial, transverse):
    omega = np.array([1.2, 0.4, -0.7])
    rates, R = analytic.symmetric_top(axial, transverse, omega, T)
    rates_ode, R_ode = analytic.free_rigid_body([axial, transverse, transverse], omega, T)
    np.testing.assert_allclose(rates, rates_ode, atol=1e-11)
    np.testing.assert_allclose(R, R_ode, atol=1e-11)


def test_free_body_conserves_energy_and_spatial_momentum():
    inertia, omega = np.array([1.0, 2.0, 3.0]), np.array([0.1, 1.0, 0.1])
    rates, R = analytic.free_rigid_body(inertia, omega, T)
    momentum = np.einsum("nij,nj->ni", R, inertia * rates)
    np.testing.assert_allclose(momentum, np.tile(inertia * omega, (len(T), 1)), atol=1e-11)
    energy = 0.5 * np.sum(inertia * rates**2, axis=1)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)
    np.testing.assert_allclose(R[0], np.eye(3))


def test_free_body_rates_are_jacobi_functions():
    """Ω = (a cn τ, b sn τ, c dn τ) for I₁ > I₂ > I₃ and momentum nearest the third axis."""
    I1, I2, I3 = inertia = np.array([3.0, 2.0, 1.0])
    a, c = 0.5, 1.5
    energy2, momentum2 = I1 * a**2 + I3 * c**2, (I1 * a) ** 2 + (I3 * c) ** 2
    # Amplitude of the middle rate and the speed of τ follow from the two invariants.
    b = -np.sqrt((momentum2 - energy2 * I3) / (I2 * (I2 - I3)))
    speed = np.sqrt((I2 - I3) * (energy2 * I1 - momentum2) / (I1 * I2 * I3))
    m = (I1 - I2) * (momentum2 - energy2 * I3) / ((I2 - I3) * (energy2 * I1 - momentum2))
    assert 0 < m < 1
    sn, cn, dn, _ = ellipj(speed * T, m)
    rates, _ = analytic.free_rigid_body(inertia, [a, 0.0, c], T)
    b *= np.sign(b * (I3 - I1) * a * c / I2)  # sense of the first motion, I₂ Ω̇₂ = (I₃ - I₁) Ω₃ Ω₁
    np.testing.assert_allclose(rates, np.stack([a * cn, b * sn, c * dn], axis=1), atol=1e-11)


def test_steady_spin_about_a_principal_axis():
    rates, R = analytic.free_rigid_body([1.0, 2.0, 3.0], [0.0, 0.0, 2.0], [0.0, 0.5])
    np.testing.assert_allclose(rates[-1], [0, 0, 2.0], atol=1e-14)
    np.testing.assert_allclose(R[-1], so3.exp([0, 0, 1.0]), atol=1e-12)


def test_pulse_flight_of_the_published_stick():
    """7.854 kg, 10.7 N at 0.25 s, zero at 0.5 s: 0.34059 m/s, x(5 s) = 1.9178 m (Boyer 2023, test 3)."""
    x, v = analytic.pulse_flight(np.array([0.5, 5.0]), 1000 * np.pi * 0.05**2, 10.7, 0.25, 0.5)
    np.testing.assert_allclose(v, 0.34059, atol=5e-6)
    np.testing.assert_allclose(0.3 + x, [0.38515, 1.9178], atol=5e-5)


def test_pulse_flight_is_the_double_integral_of_the_pulse():
    t = np.linspace(0.0, 3.0, 30001)
    force = analytic.triangular_pulse(t, 4.0, 0.7, 2.0)
    velocity = cumulative_trapezoid(force / 2.5, t, initial=0.0)
    position = cumulative_trapezoid(velocity, t, initial=0.0)
    x, v = analytic.pulse_flight(t, 2.5, 4.0, 0.7, 2.0)
    np.testing.assert_allclose(v, velocity, atol=1e-8)
    np.testing.assert_allclose(x, position, atol=1e-8)
    assert float(analytic.triangular_pulse(0.7, 4.0, 0.7, 2.0)) == 4.0
    assert float(analytic.triangular_pulse(9.0, 4.0, 0.7, 2.0)) == 0.0


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="inertia"):
        analytic.free_rigid_body([1.0, 0.0, 1.0], [1, 0, 0], [0.0])
    with pytest.raises(BadInput, match="times must increase"):
        analytic.free_rigid_body([1.0, 1.0, 1.0], [1, 0, 0], [1.0, 0.0])
    with pytest.raises(BadInput, match="end_time"):
        analytic.pulse_flight(1.0, 1.0, 1.0, 0.5, 0.2)
