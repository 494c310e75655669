"""Signals: their values, their smoothness, and refusals."""

import numpy as np
import pytest

from elver.actuation import c2_ramp, evaluate, ramp, sampled, sine, smooth_step, sum_of, triangle, within
from elver.errors import BadInput
from elver.io import dumps, loads
from elver.numerics.differences import FIRST, OFFSETS, SECOND


@pytest.mark.parametrize("build", [ramp, smooth_step, c2_ramp])
def test_transitions_go_from_before_to_after(build):
    signal = build(1.0, 3.0, before=2.0, after=-4.0)
    assert [signal(t) for t in (0.0, 1.0, 2.0, 3.0, 9.0)] == pytest.approx([2.0, 2.0, -1.0, -4.0, -4.0])


@pytest.mark.parametrize("build", [ramp, smooth_step, c2_ramp])
def test_transitions_stay_between_their_ends(build):
    for after in (0.0, -3.0):
        signal = build(0.2, 0.7, before=5.0, after=after)
        values = [signal(0.7 - 1e-3 * x**4) for x in np.linspace(0.0, 1.0, 2000)]
        assert min(values) >= after
        assert max(values) <= 5.0


def test_formulas():
    tau = 0.3
    assert ramp(0, 2)(0.6) == pytest.approx(tau)
    assert smooth_step(0, 2)(0.6) == pytest.approx(6 * tau**5 - 15 * tau**4 + 10 * tau**3)
    assert c2_ramp(0, 2)(0.6) == pytest.approx(tau - np.sin(2 * np.pi * tau) / (2 * np.pi))


@pytest.mark.parametrize("build", [smooth_step, c2_ramp])
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_smooth_transitions_have_no_acceleration_at_their_ends(build, end):
    signal, h = build(0.0, 1.0), 1e-4
    second = (signal(end + h) - 2 * signal(end) + signal(end - h)) / h**2
    # The third derivative is at most 60: a jump of it leaves 60 h / 6.
    assert abs(second) < 60 * h


def test_triangle_and_samples():
    peak = triangle(8.0, t_peak=2.5, t_end=5.0)
    assert [peak(t) for t in (-1, 0, 1.25, 2.5, 3.75, 5, 6)] == pytest.approx([0, 0, 4, 8, 4, 0, 0])
    table = sampled(np.array([0.0, 1.0, 3.0]), [1.0, 2.0, 0.0])
    assert [table(t) for t in (-1, 0.5, 2.0, 7.0)] == pytest.approx([1.0, 1.5, 1.0, 0.0])


def rates_by_differences(value, t, step=1e-3):
    """Central differences of order six."""
    samples = np.array([value(t + step * k) for k in OFFSETS])
    return value(t), FIRST @ samples / step, SECOND @ samples / step**2


def test_a_sine_oscillates_about_its_mean():
    wave = sine(3.0, 2.0, 2.5)
    assert [wave(t) for t in (0.0, 0.1, 0.2, 0.3)] == pytest.approx([3.0, 5.0, 3.0, 1.0])


def test_tensions_of_a_swimmer():
    """Gotelli 2024, X5: T± = T₀ + T₁ sin(ω t ± π/2), so that D (T₊ - T₋) = 2 cos(5 π t) N m at full amplitude."""
    pull = [sine(20.0, 20.0, 2.5, phase=side * np.pi / 2, ramp=c2_ramp(0.0, 1.0)) for side in (1, -1)]
    assert [tension(0.0) for tension in pull] == [20.0, 20.0]
    for t in (1.0, 1.23, 7.7):
        assert 0.05 * (pull[0](t) - pull[1](t)) == pytest.approx(2.0 * np.cos(5 * np.pi * t), abs=1e-13)
    assert min(tension(t) for tension in pull for t in np.linspace(0.0, 3.0, 301)) >= 0.0


@pytest.mark.parametrize("ramp", [None, smooth_step(0.2, 1.7), c2_ramp(0.2, 1.7, before=0.5, after=2.0)])
@pytest.mark.parametrize("mean", [3.0, smooth_step(0.1, 2.2, after=-4.0)])
def test_rates_of_a_sine(mean, ramp):
    """Truncation of order six and rounding / step²: 1e-8 on values of about 1 at 1 Hz."""
    wave = sine(mean, 0.7, 0.8, phase=0.3, ramp=ramp)
    for t in (0.05, 0.4, 1.1, 1.9, 2.5):
        assert wave.rates(t) == pytest.approx(rates_by_differences(wave, t), abs=2e-8)
        assert wave(t) == wave.rates(t)[0]


def test_a_sine_comes_back_from_a_file():
    wave = sine(smooth_step(0, 2), 0.7, 0.8, 0.3, c2_ramp(0, 1))
    assert loads(dumps(wave)) == wave


def test_a_sum_adds_values_and_rates():
    up, down = smooth_step(0.0, 0.8, after=5.0), smooth_step(1.5, 2.3, after=-5.0)
    pull = sum_of(1.0, up, down)
    for t in (-1.0, 0.3, 1.0, 1.9, 4.0):
        assert pull(t) == 1.0 + up(t) + down(t)
        assert pull.rates(t) == pytest.approx(rates_by_differences(pull, t), abs=2e-8)
    assert sum_of(2.0, triangle(8.0, 2.5, 5.0))(2.5) == 10.0
    assert loads(dumps(pull)) == pull


def test_a_signal_within_a_span_is_held_outside():
    pulses = within(sine(1.0, 1.0, 1.0, phase=-np.pi / 2), 4.0, 7.0)
    assert [pulses(t) for t in (0.0, 4.0, 4.5, 5.0, 7.0, 9.9)] == pytest.approx([0, 0, 2, 0, 0, 0], abs=1e-15)
    assert pulses.rates(3.9)[1:] == pulses.rates(7.1)[1:] == (0.0, 0.0)
    assert pulses.rates(4.25) == pytest.approx(rates_by_differences(pulses, 4.25), abs=2e-7)
    late = within(ramp(0.0, 10.0, after=10.0), 2.0)
    assert [late(t) for t in (0.0, 2.0, 5.0, 20.0)] == [2.0, 2.0, 5.0, 10.0]
    assert loads(dumps(late)) == late


def test_evaluate_takes_numbers_and_callables():
    assert evaluate(3, 0.0) == 3.0
    assert evaluate(lambda t: np.float64(2 * t), 1.5) == 3.0


def test_signals_are_values():
    assert ramp(0, 1) == ramp(0.0, 1.0)
    assert len({sampled([0, 1], [1, 2]), sampled((0.0, 1.0), (1.0, 2.0))}) == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ramp(1.0, 1.0), r"t1 = 1 s is not after t0 = 1 s: choose t1 > t0"),
        (lambda: smooth_step(0.0, np.nan), r"t1 contains nan \(s\)"),
        (lambda: c2_ramp(0.0, 1.0, after=np.inf), r"after contains inf \(\(unit of the input\)\)"),
        (lambda: triangle(1.0, 3.0, 2.0), r"t_start = 0 s, t_peak = 3 s, t_end = 2 s: let them increase"),
        (lambda: sampled([0.0, 1.0], [1.0]), r"2 times \(s\) and 1 values: give as many values as times"),
        (lambda: sampled([], []), r"0 times \(s\) and 0 values"),
        (lambda: sampled([0.0, 2.0, 2.0], [1, 2, 3]), r"times\[2\] = 2 s does not come after 2 s: sort"),
        (lambda: sum_of(), r"terms = \(\): give a list of numbers and signals"),
        (lambda: sum_of(1.0, np.nan), r"terms\[1\] contains nan"),
        (lambda: sum_of(ramp(0.0, 1.0)).rates(0.5), r"a Ramp has no rates; where a motion is imposed"),
        (lambda: within(1.0, 2.0, 2.0), r"t1 = 2.0 s is not after t0 = 2 s"),
        (lambda: within(1.0, 2.0, np.nan), r"t1 = nan s is not after t0 = 2 s"),
        (lambda: sine(0.0, 1.0, 0.0), r"sine: frequency = 0 Hz: must be greater than zero"),
        (lambda: sine(0.0, np.nan, 1.0), r"sine: amplitude contains nan \(\(unit of the input\)\)"),
        (lambda: sine(np.inf, 1.0, 1.0), r"sine: mean contains inf \(\(unit of the input\)\)"),
        (lambda: sine(0.0, 1.0, 1.0, phase=np.nan), r"sine: phase contains nan \(rad\)"),
        (
            lambda: sine(0.0, 1.0, 1.0, ramp=ramp(0.0, 1.0)),
            r"sine: ramp = a Ramp has no rates; give smooth_step\(t0, t1\) or c2_ramp\(t0, t1\), or None",
        ),
        (lambda: sine(0.0, 1.0, 1.0, ramp=2.0), r"sine: ramp = 2.0 has no rates; give smooth_step"),
        (
            lambda: sine(lambda t: t, 1.0, 1.0),
            r"sine: mean = the function .* has no rates; give a number, or a signal with rates such as smooth_step",
        ),
        (lambda: evaluate(np.nan, 0.0, "tension", "N"), r"tension contains nan \(N\)"),
        (lambda: evaluate(lambda t: np.inf, 0.5, "tension", "N"), r"tension at t = 0.5 s contains inf \(N\)"),
        (lambda: evaluate(lambda t: [1, 2], 0.5, "tension", "N"), r"tension at t = 0.5 s has shape \(2,\)"),
    ],
)
def test_bad_signals_are_refused(build, message):
    with pytest.raises(BadInput, match=message):
        build()
