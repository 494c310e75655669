"""The common rod: 1 m, radius 10 mm, E = 50 MPa, ν = 0.5, 1000 kg/m³, shear correction 27/28.

Static: clamped along x, dead transverse tip force with F L²/EI = 10; error = tip distance / L to the elastica.
Released: straight and at rest, let go under gravity for 2 s, undamped; error = largest tip distance / L over 200
instants to the converged Reissner solution in ``released_rod.toml``. All our rods are free to bend both ways and to
twist: no row gains from knowing that the motion is planar.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np

import elver as ev
from elver.analytic import cantilever_tip_force, reissner_cantilever
from elver.cli.bench import Row, cpu_time, row

from . import peers as others

LENGTH, RADIUS = 1.0, 0.01
MATERIAL = ev.Material(young=5e7, poisson=0.5, density=1000.0)
SECTION = ev.Circle(RADIUS, shear_correction=27 / 28)
DURATION, INSTANT = 2.0, 0.01

SUITABLE = {  # accuracy: basis, nodes and step [s] of the released rod, the cheapest we know that reach it
    1e-2: (ev.Legendre(bending=5, torsion=1), 8, 1e-2),
    1e-3: (ev.Legendre(bending=6, torsion=1, stretch=3, shear=3), 10, 2.5e-3),
}
METHOD = ev.Newmark(tolerance=1e-7)


def common_rod(basis: ev.Legendre, nodes: int, integration: ev.Magnus) -> ev.Rod:
    return ev.Rod(LENGTH, SECTION, MATERIAL, basis, nodes=nodes, integration=integration)


# Static -----------------------------------------------------------------------------------------------------


def static_cantilever() -> tuple[ev.System, np.ndarray]:
    """The loaded rod and its exact tip."""
    rod = common_rod(ev.Legendre(bending=7, torsion=1), 9, ev.Magnus(6))
    stiffness = rod.stiffness([0.0])[0, 2]
    force = 10.0 * stiffness / LENGTH**2
    load = ev.PointWrench(rod, force=(0.0, force, 0.0))
    exact = cantilever_tip_force(force, LENGTH, stiffness).tip
    return ev.System(ev.Mechanism.clamped(rod), loads=[load]), np.array([*exact[:2], 0.0])


@row("static-cantilever-1e-6", unit="ms", goal=1.0)
def static_cantilever_1e_6(peers: bool) -> Row:
    """Equilibrium from the straight rod, load stepping and stability check included."""
    accuracy = 1e-6
    system, exact = static_cantilever()
    error = float(np.linalg.norm(ev.equilibrium(system).tip[:3, 3] - exact)) / LENGTH
    ours = 1e3 * cpu_time(lambda: ev.equilibrium(system)) if error <= accuracy else None
    return Row(ours, error, _static_peers(accuracy) if peers else {})


def _static_peers(accuracy: float) -> dict[str, float | None]:
    """Milliseconds, each tool held to the exact solution of its own model; PyElastica has no static solver."""
    _, _, EI, EA, kGA = others.stiffnesses()
    force = (0.0, 10.0 * EI / LENGTH**2)
    sheared = reissner_cantilever(LENGTH, EI, axial_stiffness=EA, shear_stiffness=kGA, tip_force=force).tip
    stretched = reissner_cantilever(LENGTH, EI, axial_stiffness=EA, tip_force=force).tip

    def search(build, exact, settings):
        def attempt(n: int) -> tuple[float, float]:
            seconds, tip = others.exudyn_static(build, n, force[1])
            return 1e3 * seconds, float(np.linalg.norm(tip[:2] - exact[:2])) / LENGTH

        return others.first_that_reaches(accuracy, attempt, [(n,) for n in settings])

    if not others.installed("exudyn"):
        return {}
    return {
        "exudyn-3d": search(others.exudyn_3d, sheared, (128, 256, 512)),
        "exudyn-planar": search(others.exudyn_planar, stretched, (16, 32, 64, 128)),
    }


# Released ---------------------------------------------------------------------------------------------------


def reference() -> np.ndarray:
    """Tip of the converged run, (201, 3)."""
    stored = tomllib.loads(Path(__file__).with_name("released_rod.toml").read_text(encoding="utf-8"))
    x, z = np.array(stored["tip"]).T
    return np.column_stack([x, np.zeros_like(x), z])


def release(accuracy: float, duration: float = DURATION) -> tuple[float, float]:
    """CPU seconds per simulated second and error of our setting for ``accuracy``."""
    basis, nodes, step = SUITABLE[accuracy]
    rod = common_rod(basis, nodes, ev.Magnus(4))
    system = ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()])

    def run() -> np.ndarray:
        run = ev.simulate(system, duration=duration, step=step, method=METHOD, every=round(INSTANT / step))
        return run["rod/tip/position"].values

    return cpu_time(run) / duration, distance(run())


def distance(tips: np.ndarray) -> float:
    """Largest distance / L of tips at 0, 10 ms, 20 ms ... to the reference; infinite where a run blew up."""
    gap = float(np.linalg.norm(tips - reference()[: len(tips)], axis=1).max()) / LENGTH
    return gap if np.isfinite(gap) else np.inf


def _released(accuracy: float, peers: bool) -> Row:
    seconds, error = release(accuracy)
    return Row(seconds if error <= accuracy else None, error, _released_peers(accuracy) if peers else {})


@row("released-rod-1pct", unit="CPU s/s", goal=0.02)
def released_rod_1pct(peers: bool) -> Row:
    """Rod let go, within 1 % of L for 2 s."""
    return _released(1e-2, peers)


@row("released-rod-0.1pct", unit="CPU s/s", goal=0.06)
def released_rod_01pct(peers: bool) -> Row:
    """Rod let go, within 0.1 % of L for 2 s."""
    return _released(1e-3, peers)


def _released_peers(accuracy: float) -> dict[str, float | None]:
    """CPU s/s of the first setting, cheapest first, that reaches ``accuracy``."""
    settings = {  # elements, and step [s] or part of the stable step; the planar cable has no shear: 0.14 % off at best
        "exudyn-3d": [(8, 0.01), (16, 0.01), (16, 0.005), (32, 0.002), (48, 0.002), (64, 0.002), (64, 0.001)],
        "exudyn-planar": [(4, 0.01), (8, 0.01), (16, 0.01), (16, 0.005), (32, 0.002), (32, 0.001)],
        "pyelastica": [(10, 0.9), (14, 0.9), (20, 0.9), (40, 0.9), (40, 0.5), (50, 0.5), (60, 0.5), (80, 0.5)],
    }
    runs = {
        "exudyn-3d": lambda n, step: others.exudyn_release(others.exudyn_3d, n, step, DURATION),
        "exudyn-planar": lambda n, step: others.exudyn_release(others.exudyn_planar, n, step, DURATION),
        "pyelastica": lambda n, part: others.elastica_release(n, part, DURATION),
    }
    if accuracy < 5e-3:  # the coarse ones are known not to reach it
        settings = {name: tried[3:] for name, tried in settings.items()}

    def search(name: str) -> float | None:
        def attempt(*setting: float) -> tuple[float, float]:
            seconds, tips = runs[name](*setting)
            return seconds / DURATION, distance(tips)

        return others.first_that_reaches(accuracy, attempt, settings[name])

    return {name: search(name) for name in runs if others.installed(others.MODULE[name])}
