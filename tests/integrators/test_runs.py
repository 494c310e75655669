"""The run as a whole: adaptive steps, files, failures, interruptions, restarts, and what is refused in which words."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import elver as ev

# -------------------------------------------------------------------------------------------------- adaptive


def hit_rod() -> tuple[ev.System, ev.PointWrench]:
    """A clamped rod that is hit after a while: quiet, busy, then slowly fading."""
    material = ev.Material(young=1e6, poisson=0.45, density=1070.0, damping=1e-2)
    rod = ev.Rod(0.4, ev.Circle(8e-3), material, ev.Legendre(bending=3, torsion=1))
    blow = ev.PointWrench(rod, force=(0.0, 0.4, 0.2), name="blow")
    return ev.System(ev.Mechanism.clamped(rod), loads=[blow]), blow


@pytest.mark.parametrize("method", [ev.Newmark(), ev.GaussLegendre4()], ids=["newmark", "gauss 4"])
def test_adaptive_steps_meet_their_tolerance_with_fewer_steps(method: ev.Newmark) -> None:
    system, blow = hit_rod()

    def pulse(t: float) -> float:
        return math.exp(-(((t - 1.0) / 0.05) ** 2))

    exact = ev.simulate(system, duration=4.0, step=2e-3, method=ev.GaussLegendre4(), inputs={blow: pulse})
    control = ev.Adaptive(tolerance=1e-5, first=1e-3, largest=0.2)
    run = ev.simulate(system, duration=4.0, step=control, method=method, inputs={blow: pulse})
    steps = np.diff(run["time"].values)
    assert run["time"].values[-1] == pytest.approx(4.0, abs=1e-12)
    assert steps.max() <= 0.2

    def error(each: xr.Dataset) -> float:
        reference = exact["q"].interp(time=each["time"], method="cubic").values
        return float(np.abs(each["q"].values - reference).max()) * 0.4  # rad over the rod

    # each step keeps 1e-5, and errors add up at worst
    assert error(run) < control.tolerance * steps.size
    # as many equal steps do worse: for the same accuracy a fixed step would need more of them
    fixed = ev.simulate(system, duration=4.0, step=4.0 / steps.size, method=method, inputs={blow: pulse})
    assert error(run) < 0.6 * error(fixed)


def test_adaptive_steps_shorten_where_something_happens() -> None:
    system, blow = hit_rod()
    run = ev.simulate(
        system, duration=3.0, step=ev.Adaptive(tolerance=1e-6), inputs={blow: lambda t: 1.0 if t > 1.0 else 0.0}
    )
    t = run["time"].values[:-1]
    steps = np.diff(run["time"].values)
    assert steps[t < 0.9].max() > 5.0 * steps[(t > 1.0) & (t < 1.2)].min()


def test_a_tolerance_beyond_reach_is_told() -> None:
    system, blow = hit_rod()
    control = ev.Adaptive(tolerance=1e-12, first=0.05, smallest=0.02)
    with pytest.raises(
        ev.NotConverged, match=r"even a step of 2\.0e-02 s misses the tolerance 1e-12; loosen it"
    ) as info:
        ev.simulate(system, duration=1.0, step=control, inputs={blow: 1.0})
    assert info.value.result.sizes["time"] >= 1


# ----------------------------------------------------------------------------------------------- files, rows


def test_the_same_run_gives_the_same_digits(make: SimpleNamespace) -> None:
    system, start = make.tossed_rod()
    for method in (ev.Newmark(), ev.GaussLegendre4()):
        one = ev.simulate(system, start, 0.3, 5e-3, method)
        ev.tangent_inverse_dynamics(system, start)  # other work on the same system leaves no trace
        two = ev.simulate(system, start, 0.3, 5e-3, method)
        xr.testing.assert_identical(one, two)


def test_every_keeps_each_kth_step_and_the_last(make: SimpleNamespace) -> None:
    system, start = make.swinging_rod()
    full = ev.simulate(system, start, 0.5, 5e-3)
    some = ev.simulate(system, start, 0.5, 5e-3, every=7)
    kept = [*range(0, 100, 7), 100]
    np.testing.assert_array_equal(some["time"].values, full["time"].values[kept])
    np.testing.assert_array_equal(some["q"].values, full["q"].values[kept])


def test_the_file_equals_the_dataset_returned(make: SimpleNamespace, tmp_path: Path) -> None:
    system, start = make.tossed_rod()
    path = tmp_path / "run.nc"
    run = ev.simulate(system, start, 0.5, 5e-3, file=path, every=2)
    stored = ev.load(path)
    xr.testing.assert_allclose(run, stored, rtol=0.0, atol=0.0)
    assert stored.attrs["status"] == run.attrs["status"] == "complete"
    assert stored.attrs["model"] == run.attrs["model"]
    assert stored["rod/tip/position"].attrs["units"] == "m"


def test_the_times_of_a_run_end_where_asked(make: SimpleNamespace) -> None:
    system, start = make.swinging_rod()
    run = ev.simulate(system, start.with_(time=3.0), 0.1, 0.03)
    assert run["time"].values[0] == 3.0
    assert run["time"].values[-1] == pytest.approx(3.1, abs=1e-12)


def test_progress_hears_of_time_and_end(make: SimpleNamespace) -> None:
    system, start = make.swinging_rod()
    heard: list[tuple[float, float]] = []
    ev.simulate(system, start, 0.5, 1e-3, progress=lambda t, end: heard.append((t, end)))
    times = [t for t, _ in heard]
    assert times == sorted(times)
    assert heard[-1] == (pytest.approx(0.5), pytest.approx(0.5))


def test_a_run_goes_on_from_any_of_its_instants(make: SimpleNamespace) -> None:
    for system, start in (make.tossed_rod(), make.swinging_rod()):
        for method in (ev.Newmark(), ev.GaussLegendre4(), ev.Newmark(group="SE3")):
            whole = ev.simulate(system, start, 0.4, 5e-3, method)
            state = ev.state_at(system, whole, 0.2)
            assert state.time == pytest.approx(0.2)
            rest = ev.simulate(system, state, 0.2, 5e-3, method, start="given")
            # the quaternion of the file is the rotation to rounding
            np.testing.assert_allclose(rest["q"].values[-1], whole["q"].values[-1], atol=1e-9)
            np.testing.assert_allclose(rest["rod/position"].values[-1], whole["rod/position"].values[-1], atol=1e-9)


# ------------------------------------------------------------------------------------------- what goes wrong


def test_a_run_that_cannot_go_on_loses_nothing(make: SimpleNamespace, tmp_path: Path) -> None:
    system, pull = make.stiff_cantilever(0.4, 0.01)
    bent = ev.equilibrium(system)
    path = tmp_path / "failing.nc"
    with pytest.raises(ev.NotConverged, match=r"Newton failed at t = [\d.]+ s even with a step of 1\.0e-01 s") as info:
        ev.simulate(system, bent, 5.0, 0.1, ev.Newmark(halvings=0), {pull: 0.0}, file=path)
    run = info.value.result
    assert 1 < run.sizes["time"] < 51
    assert f"t = {float(run['time'][-1]):g} s" in str(info.value)
    assert "smaller step" in str(info.value)
    stored = ev.load(path)
    xr.testing.assert_allclose(run, stored, rtol=0.0, atol=0.0)
    assert stored.attrs["status"].startswith("stopped: simulate: Newton failed")


def test_an_error_in_a_function_names_its_input_and_keeps_the_steps_before(tmp_path: Path) -> None:
    rod = ev.Rod(0.3, ev.Circle(0.01), ev.Material(young=2e7, poisson=0.4, density=1e3), ev.Legendre(bending=2))
    tendon = ev.Tendon(rod, ev.parallel(z=5e-3), name="cable")
    system = ev.System(ev.Mechanism.clamped(rod), [tendon])
    path = tmp_path / "late.nc"
    with pytest.raises(ZeroDivisionError) as info:
        ev.simulate(
            system, duration=0.1, step=5e-3, inputs={tendon: lambda t: 1.0 / 0.0 if t > 0.05 else 1.0}, file=path
        )
    assert info.value.__notes__ == ["in the function of input 'cable' at t = 0.0525 s"]
    stored = ev.load(path)
    assert stored.sizes["time"] == info.value.result.sizes["time"] == 11
    assert stored.attrs["status"].startswith("stopped: ZeroDivisionError: ")
    assert "input 'cable'" in stored.attrs["status"]


def test_ctrl_c_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "interrupted.nc"
    script = textwrap.dedent(
        f"""
        import signal
        import elver as ev
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
        rod = ev.Rod(1.0, ev.Circle(0.01), ev.Material(young=1e6, poisson=0.4, density=1e3), ev.Legendre.kirchhoff(4))
        system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])
        try:
            ev.simulate(system, duration=3600.0, step=1e-3, file={str(path)!r})
        except KeyboardInterrupt as error:
            print(type(error).__name__, error, error.result.sizes["time"], flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        patience = time.monotonic() + 300.0
        while not path.exists() and time.monotonic() < patience:
            time.sleep(0.1)
        assert path.exists(), "the run never wrote its file"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=600.0)
    finally:
        process.kill()
    kind, *message, count = said.split()
    assert kind == "Interrupted"
    assert f"and in {path}" in " ".join(message)
    stored = ev.load(path)
    assert stored.sizes["time"] == int(count) > 1
    assert stored.attrs["status"] == "stopped: interrupted by the user"
    assert np.all(np.isfinite(stored["q"].values))
    np.testing.assert_allclose(np.diff(stored["time"].values), 1e-3, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 0.0}, r"step = 0 s: must be greater than zero"),
        ({"step": -1e-3}, r"step = -0\.001 s: must be greater than zero"),
        ({"step": math.nan}, r"step = nan s: must be a finite number"),
        ({"step": 2.0}, r"step = 2 s is longer than the duration 1 s: choose a smaller step"),
        ({"duration": -1.0}, r"duration = -1 s: must be greater than zero"),
        ({"duration": math.inf}, r"duration = inf s: must be a finite number"),
        ({"method": "newmark"}, r"method = 'newmark': choose Conserving\(\), ImplicitMidpoint\(\)"),
        ({"method": ev.Newmark}, r"method = .*Newmark.*: choose Conserving\(\), ImplicitMidpoint\(\)"),
        ({"every": 0}, r"every = 0: keep each k-th step with a whole number"),
        ({"every": 1.5}, r"every = 1\.5: keep each k-th step with a whole number"),
        ({"start": "soon"}, r"start = 'soon': choose \"consistent\" or \"given\""),
        ({"inputs": {"wind": 1.0}}, r"inputs: 'wind' is not part of this system; its inputs are 'gravity'"),
        ({"inputs": {"gravity": math.nan}}, r"input 'gravity' contains nan"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, message: str, make: SimpleNamespace) -> None:
    system, start = make.swinging_rod()
    with pytest.raises(ev.BadInput, match=message):
        ev.simulate(system, start, **{"duration": 1.0, **arguments})


@pytest.mark.parametrize(
    ("make_bad", "message"),
    [
        (lambda: ev.Newmark(tolerance=0.0), r"tolerance = 0 .*must be greater than zero"),
        (lambda: ev.Newmark(beta=0.1), r"Newmark\(beta=0\.1, gamma=0\.5\) is unstable for large steps: choose"),
        (lambda: ev.Newmark(group="SO3"), r"group = 'SO3': choose 'SO3xR3' or 'SE3'"),
        (lambda: ev.Newmark(halvings=-1), r"halvings = -1: must not be negative; 0 forbids halving"),
        (lambda: ev.Newmark(max_iterations=0), r"max_iterations = 0: allow at least one Newton step"),
        (lambda: ev.HHT(rho_inf=0.3), r"rho_inf = 0\.3: choose it between 0\.5 \(most damping\) and 1"),
        (lambda: ev.GeneralizedAlpha(rho_inf=1.2), r"rho_inf = 1\.2: choose it between 0 "),
        (lambda: ev.Adaptive(tolerance=-1.0), r"tolerance = -1 "),
        (lambda: ev.Adaptive(smallest=0.0), r"smallest step = 0 s: must be greater than zero"),
    ],
)
def test_bad_methods_are_named(make_bad, message: str) -> None:
    with pytest.raises(ev.BadInput, match=message):
        make_bad()


def test_an_input_that_turns_nan_is_named_with_its_time(make: SimpleNamespace, tmp_path: Path) -> None:
    system, start = make.swinging_rod()
    path = tmp_path / "nan.nc"

    def faulty(t: float) -> float:
        return 1.0 if t < 0.2 else math.nan

    with pytest.raises(ev.BadInput, match=r"input 'gravity' at t = 0\.2\d* s contains nan") as info:
        ev.simulate(system, start, 1.0, 1e-2, inputs={"gravity": faulty}, file=path)
    with pytest.raises(ev.BadInput, match="at t = 0 s contains nan"):
        ev.simulate(system, start, 1.0, 1e-2, inputs={"gravity": lambda t: math.nan}, start="given")
    # what was computed before is in the file, and the file says why it ends
    stored = ev.load(path)
    assert stored.sizes["time"] > 1
    assert stored.attrs["status"].startswith("stopped: input 'gravity' at t = 0.2")
    assert info.value.result.sizes == stored.sizes  # type: ignore[attr-defined]


def test_a_state_of_another_system_is_refused(make: SimpleNamespace) -> None:
    system, _ = make.swinging_rod()
    other, pull = make.soft_cantilever()
    with pytest.raises(ev.BadInput, match=r"state\.q has shape \(3,\): this system needs \(5,\)"):
        ev.simulate(system, other.rest())
    with pytest.raises(ev.BadInput, match="is not part of this system"):
        ev.simulate(system, inputs={pull: 0.0})
