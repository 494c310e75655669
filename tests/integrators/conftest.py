"""Rods that several tests of time integration share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy.interpolate import CubicSpline

import elver as ev


def cantilever(
    length: float, density: float, young: float, diameter: float, force: float, modes: int = 3
) -> tuple[ev.System, ev.PointWrench]:
    """Hanging planar rod with a sideways tip force (Gotelli 2024, section 3.9)."""
    rod = ev.Rod(
        length,
        ev.Circle(diameter / 2),
        ev.Material(young=young, poisson=0.3, density=density),
        ev.Legendre.planar(modes),
        nodes=20,
    )
    pull = ev.PointWrench(rod, force=(0.0, force, 0.0), name="pull")
    return ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity((9.81, 0.0, 0.0)), pull]), pull


def soft_cantilever() -> tuple[ev.System, ev.PointWrench]:
    return cantilever(10.0, 7800.0, 1e11, 0.01, 50.0)


def stiff_cantilever(force: float = 0.4, factor: float = 1.0) -> tuple[ev.System, ev.PointWrench]:
    return cantilever(0.4, 8000.0, 2e9 * factor, 0.002, force)


def pose(x: tuple[float, ...], y: tuple[float, ...], p: tuple[float, ...]) -> np.ndarray:
    """Pose with given x and y axes and origin."""
    g = np.eye(4)
    g[:3, :3] = np.column_stack([x, y, np.cross(x, y)])
    g[:3, 3] = p
    return g


def soft_flying_rod(sign: float, modes: int = 3) -> tuple[ev.System, ev.PointWrench]:
    """Free flight of Simo and Vu-Quoc: M = diag(10, 10, 10, 1, 1, 1), H = 500 on bending and torsion."""
    section = ev.Section(area=1.0, I_y=10.0, I_z=10.0, torsion_constant=10.0, I_polar=10.0)
    rod = ev.Rod(
        10.0, section, ev.Material(young=50.0, shear=50.0, density=1.0), ev.Legendre.kirchhoff(modes), nodes=20
    )
    pulse = ev.PointWrench(rod, force=(20.0, 0.0, 0.0), moment=(0.0, 100.0, sign * 200.0), name="pulse")
    base = pose((0.6, -0.8, 0.0), (0.8, 0.6, 0.0), (0.0, 8.0, 0.0))
    return ev.System(ev.Mechanism.free(rod, pose=base), loads=[pulse]), pulse


def flying_stick(modes: int = 3, stiffer: float = 1.0) -> tuple[ev.System, dict[str, Callable[[float], float]]]:
    """Boyer 2023, test 3, in the variant with a triangular pulse of 10.7 N m; system and inputs."""
    material = ev.Material(young=1e6 * stiffer, shear=1e6 * stiffer, density=1e3)
    rod = ev.Rod(1.0, ev.Circle(0.05), material, ev.Legendre.kirchhoff(modes), nodes=20)
    force = ev.PointWrench(rod, force=(10.7, 0.0, 0.0), name="force")
    couple = ev.PointWrench(rod, moment=(0.0, 10.7, 5.35), frame="section", name="couple")
    base = pose((0.6, 0.0, -0.8), (0.0, 1.0, 0.0), (0.0, 0.0, 0.8))
    pulse = ev.triangle(1.0, 0.25, 0.5)
    system = ev.System(ev.Mechanism.free(rod, pose=base), loads=[force, couple])
    return system, {"force": pulse, "couple": pulse}


def tossed_rod(damping: float = 0.0) -> tuple[ev.System, ev.State]:
    """A free rod thrown with spin and bent, for smooth 3-D motion of a fraction of a second."""
    material = ev.Material(young=1e6, poisson=0.4, density=1e3, damping=damping)
    rod = ev.Rod(1.0, ev.Circle(0.03), material, ev.Legendre(bending=2, torsion=1))
    system = ev.System(ev.Mechanism.free(rod))
    rest = system.rest()
    q = np.array([0.3, 0.8, -0.3, 0.5, 0.4])
    return system, rest.with_(q=q, eta=np.array([1.0, 2.0, -3.0, 0.5, 1.0, -0.5]), q_dot=-q)


def swinging_rod() -> tuple[ev.System, ev.State]:
    """A clamped rod let go from a bent shape under gravity, in 3-D."""
    material = ev.Material(young=1e6, poisson=0.4, density=1e3)
    rod = ev.Rod(1.0, ev.Circle(0.03), material, ev.Legendre(bending=2, torsion=1))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])
    return system, system.rest().with_(q=np.array([0.3, 0.8, -0.3, 0.5, 0.4]))


def tip(run: xr.Dataset, time: float) -> np.ndarray:
    """Tip of the rod at the recorded instant nearest to ``time`` [s]."""
    return np.asarray(run["rod/tip/position"].sel(time=time, method="nearest"))


def mass_centre(run: xr.Dataset) -> np.ndarray:
    """Mass centre of a uniform rod at every instant, (T, 3) [m]."""
    s = run["rod/s"].values
    return CubicSpline(s, run["rod/position"].values, axis=1).integrate(0.0, s[-1]) / s[-1]


def observed_order(errors: list[float], ratio: float = 2.0) -> float:
    """Slope of log(error) over log(step), by least squares over steps h, h/ratio, h/ratio² ..."""
    k = np.arange(len(errors))
    return float(-np.polyfit(k, np.log(errors), 1)[0] / np.log(ratio))


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """The functions above by name."""
    return SimpleNamespace(
        soft_cantilever=soft_cantilever,
        stiff_cantilever=stiff_cantilever,
        soft_flying_rod=soft_flying_rod,
        flying_stick=flying_stick,
        tossed_rod=tossed_rod,
        swinging_rod=swinging_rod,
        tip=tip,
        mass_centre=mass_centre,
        observed_order=observed_order,
    )
