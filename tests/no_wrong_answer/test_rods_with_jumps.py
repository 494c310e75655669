"""Section 3, rods with jumps: a stepped radius and a rest curvature that begins inside the rod are exact with breaks,
whether given or found, in statics, modes, runs and files; a plain function that jumps is told with its place."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import elver as ev
from elver import io

MATERIAL = ev.Material(young=2e9, poisson=0.35, density=1100.0, damping=2e-3)
L, AT = 0.8, 0.37 * 0.8
RADII = (8e-3, 5e-3)
CURVED = (0.0, 1.5, 3.0)


def stepped_radius(s):
    return np.where(s < AT, *RADII)


def rest_from_inside(s):
    return np.where((s < AT)[:, None], 0.0, CURVED)


def system_of(parts, tip):
    """A clamped chain of rods welded end to end, with a tip force and weight."""
    joints = [ev.Fixed("world", (parts[0], "base"))]
    joints += [ev.Fixed((a, "tip"), (b, "base")) for a, b in pairwise(parts)]
    return ev.System(ev.Mechanism(joints), loads=[ev.PointWrench(parts[-1], force=tip), ev.Gravity()])


def joined(kind, basis):
    """Two rods of one section and one rest curvature each."""
    radii = RADII if kind == "radius" else (6e-3, 6e-3)
    rests = (None, None) if kind == "radius" else (None, CURVED)
    lengths = (AT, L - AT)
    return [
        ev.Rod(length, ev.Circle(radius), MATERIAL, basis, rest=rest, name=name)
        for length, radius, rest, name in zip(lengths, radii, rests, "ab")
    ]


def one(kind, basis, described):
    """The same as one rod: by functions with given breaks, or by a description in which they are found."""
    if described == "given":
        radius = stepped_radius if kind == "radius" else 6e-3
        rest = None if kind == "radius" else rest_from_inside
        return ev.Rod(L, ev.Circle(radius), MATERIAL, basis, rest=rest, name="a", breaks=(AT,))
    radius = ev.Stepped(RADII, at=(AT,)) if kind == "radius" else 6e-3
    rest = None if kind == "radius" else ev.Stepped(((0.0, 0.0, 0.0), CURVED), at=(AT,))
    return ev.Rod(L, ev.Circle(radius), MATERIAL, basis, rest=rest, name="a")


@pytest.mark.parametrize("described", ["given", "found"])
@pytest.mark.parametrize("kind", ["radius", "rest"])
@pytest.mark.parametrize(
    "basis",
    [ev.Legendre.kirchhoff(4), ev.Legendre.reissner(3), ev.PiecewiseConstant.kirchhoff(6)],
    ids=["kirchhoff", "reissner", "constant"],
)
def test_one_rod_with_a_jump_is_two_joined_rods(kind, described, basis):
    """Statics: tip pose, force and moment at the clamp, and stiffness are those of two welded rods to 1e-10."""
    two = ev.equilibrium(system_of(joined(kind, basis), (0.0, 2.0, 4.0)))
    same = ev.equilibrium(system_of([one(kind, basis, described)], (0.0, 2.0, 4.0)))
    assert np.max(np.abs(same.tip - two.pose("b"))) < 1e-10
    np.testing.assert_allclose(same.pose("a", AT), two.pose("a"), rtol=0.0, atol=1e-10)
    K = ev.tangent_inverse_dynamics(same.system, same.state).dQ_dq
    other = ev.tangent_inverse_dynamics(two.system, two.state).dQ_dq
    # the same functions, in another order
    np.testing.assert_allclose(np.linalg.eigvalsh(K), np.linalg.eigvalsh(other), rtol=1e-9)


@pytest.mark.parametrize("kind", ["radius", "rest"])
def test_a_run_of_a_rod_with_a_jump_is_that_of_two_joined_rods(kind):
    basis = ev.Legendre.kirchhoff(3)
    two, same = system_of(joined(kind, basis), (0.0, 1.0, 2.0)), system_of([one(kind, basis, "found")], (0.0, 1.0, 2.0))
    options = {"duration": 0.1, "step": 2e-3, "method": ev.ImplicitMidpoint(tolerance=1e-12)}
    run, reference = ev.simulate(same, **options), ev.simulate(two, **options)
    gap = np.abs(run["a/tip/position"].values - reference["b/tip/position"].values).max()
    assert gap < 1e-10


def deflection(functions, smooth):
    """Tip of a stepped cantilever under a small tip force, and its exact value F (a part over each EI)."""
    radius = stepped_radius if smooth else ev.Stepped(RADII, at=(AT,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ElverWarning)
        rod = ev.Rod(L, ev.Circle(radius), MATERIAL, ev.Legendre.planar(functions), nodes=400)
    force = 1e-6
    found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, force=(0, force, 0))]))
    EI = [MATERIAL.young * np.pi * r**4 / 4.0 for r in RADII]
    exact = force * ((L**3 - (L - AT) ** 3) / EI[0] + (L - AT) ** 3 / EI[1]) / 3.0
    return found.tip[1, 3], exact


def test_the_stepped_cantilever_has_its_textbook_deflection():
    """Bending moment is linear in each piece, so two functions on each are exact; one smooth basis is percents off."""
    tip, exact = deflection(2, smooth=False)
    assert tip == pytest.approx(exact, rel=1e-9)
    tip, exact = deflection(8, smooth=True)
    assert abs(tip / exact - 1.0) > 0.005


def test_order_of_convergence_with_breaks():
    """A rod bent far by its weight: strains are analytic in each piece, so errors fall by a factor with each function,
    faster than any power; without breaks, with the same functions, they fall like a power between one and two."""

    def tip(functions, broken):
        radius = ev.Stepped(RADII, at=(AT,)) if broken else stepped_radius
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ev.ElverWarning)
            rod = ev.Rod(L, ev.Circle(radius), MATERIAL, ev.Legendre.planar(functions), nodes=200)
        load = ev.DistributedWrench(rod, force=(0.0, 40.0, 0.0))
        return ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[load])).tip[:2, 3]

    exact = tip(14, broken=True)
    with_breaks = [np.linalg.norm(tip(n, True) - exact) for n in (2, 4, 6)]
    smooth = [np.linalg.norm(tip(n, False) - exact) for n in (4, 8, 16)]
    assert with_breaks[1] < 0.05 * with_breaks[0]
    assert with_breaks[2] < 0.05 * with_breaks[1]
    orders = np.log2(np.array(smooth[:-1]) / np.array(smooth[1:]))
    assert np.all(orders < 2.5), "a smooth basis on a jump is algebraic"
    assert with_breaks[2] < 1e-3 * smooth[2]


def test_elements_of_degree_k_converge_with_twice_their_number_of_functions():
    """Piecewise Legendre of n functions on ever more elements, a break at the jump among their ends: the tip converges
    with order 2 n in the length of the elements, twice the order of the strain, since equilibria make energy
    stationary."""

    def tip(functions, elements):
        ends = (*(np.arange(1, elements) * 0.37 / elements), 0.37, *(0.37 + np.arange(1, elements) * 0.63 / elements))
        basis = ev.Piecewise(ev.Legendre.planar(functions), ends)
        rod = ev.Rod(L, ev.Circle(ev.Stepped(RADII, at=(AT,))), MATERIAL, basis, nodes=16 * 16)
        load = ev.DistributedWrench(rod, force=(0.0, 40.0, 0.0))
        found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[load]), tolerance=1e-12)
        return found.tip[:2, 3]

    exact = tip(8, 4)
    for functions in (1, 2):
        error = [np.linalg.norm(tip(functions, n) - exact) for n in (2, 4, 8)]
        order = np.log2(error[1] / error[2])
        assert order == pytest.approx(2.0 * functions, abs=0.2)


@pytest.mark.parametrize("what", ["radius", "rest", "muscle", "load"])
def test_a_plain_function_that_jumps_is_told_with_its_place(what):
    """The place is named to nine digits with the remedy; the remedy silences it."""

    def build(breaks):
        rod = ev.Rod(
            L, ev.Circle(stepped_radius if what == "radius" else 6e-3), MATERIAL, ev.Legendre.kirchhoff(3),
            rest=rest_from_inside if what == "rest" else None, breaks=breaks,
        )  # fmt: skip
        if what == "muscle":
            ev.Muscle(rod, torque=rest_from_inside)
        if what == "load":
            ev.DistributedWrench(rod, force=rest_from_inside)

    with pytest.warns(ev.ElverWarning, match=r"jumps at s = 0\.296 m.*breaks=\[0\.296\]"):
        build(())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build((AT,))


def test_smooth_functions_are_not_told():
    """Ramps that the nodes resolve, waves, kinks: no word."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for radius in (
            lambda s: 6e-3 + 2e-3 * np.tanh((s - AT) / 0.01),
            lambda s: 6e-3 + 2e-3 * np.sin(200.0 * s),
            lambda s: 6e-3 + 2e-3 * np.abs(s - AT),
            lambda s: 6e-3 * np.exp(-3.0 * s),
            lambda s: 6e-3 + 1e-17 * np.sign(s - AT),
        ):
            ev.Rod(L, ev.Circle(radius), MATERIAL, ev.Legendre.kirchhoff(3))
    with pytest.warns(ev.ElverWarning, match="as steep as a jump"):
        ev.Rod(L, ev.Circle(lambda s: 6e-3 + 2e-3 * np.tanh((s - AT) / 1e-5)), MATERIAL, ev.Legendre.kirchhoff(3))


@pytest.mark.parametrize("actuator", ["muscle", "load"])
def test_a_stepped_muscle_or_load_is_integrated_exactly(actuator):
    """Its work on smooth functions is that of two, one on each side, to rounding."""
    rod = ev.Rod(L, ev.Circle(6e-3), MATERIAL, ev.Legendre.kirchhoff(4))
    jump = ev.Stepped(((0.0, 0.0, 0.0), (0.0, 0.3, 0.7)), at=(AT,))
    if actuator == "muscle":
        parts, loads = [ev.Muscle(rod, torque=jump)], []
    else:
        parts, loads = [], [ev.DistributedWrench(rod, force=jump)]
    system = ev.System(ev.Mechanism.clamped(rod), parts, loads)
    bias = ev.bias_forces(system, system.rest())
    x, w = np.polynomial.legendre.leggauss(12)
    s = AT + 0.5 * (x + 1.0) * (L - AT)
    if actuator == "muscle":
        Phi = rod.functions(s)
        density = np.array([0.0, 0.3, 0.7])[rod.component]
        expected = density * (0.5 * (L - AT) * w @ Phi)
        np.testing.assert_allclose(bias, expected, rtol=0.0, atol=1e-13)
    else:  # force per length times lever arms, summed over s: δp(s) = ∫ (s - r) Φ(r) dr
        lever = np.array([_deflections(rod, end) for end in s])
        expected = -np.einsum("g,gnc,c->n", 0.5 * (L - AT) * w, lever, np.array([0.0, 0.3, 0.7]))
        np.testing.assert_allclose(bias, expected, rtol=0.0, atol=1e-12)


def _deflections(rod, end):
    """Displacement of the section at ``end`` of a straight rod per unit of each coordinate, (n, 3)."""
    x, w = np.polynomial.legendre.leggauss(12)
    r, w = 0.5 * end * (x + 1.0), 0.5 * end * w
    Phi, out = rod.functions(r), np.zeros((rod.n, 3))
    arm = (w * (end - r)) @ Phi
    out[:, 2], out[:, 1] = np.where(rod.component == 1, -arm, 0.0), np.where(rod.component == 2, arm, 0.0)
    return out


def test_breaks_travel_in_files(tmp_path):
    """Breaks, steps and functions with jumps at breaks come back from model files and runs."""
    rods = {
        "given": ev.Rod(L, ev.Circle(6e-3), MATERIAL, ev.Legendre.kirchhoff(2), name="a", breaks=(0.1, AT)),
        "stepped": one("radius", ev.Legendre.kirchhoff(2), "found"),
        "tapers": ev.Rod(
            L, ev.Circle(ev.Stepped((7e-3, ev.Taper(6e-3, 4e-3)), at=(AT,))), MATERIAL,
            ev.Piecewise(ev.Legendre(bending=2), 3), name="a",
        ),
        "rest": one("rest", ev.Legendre.kirchhoff(2), "found"),
    }  # fmt: skip
    s = np.linspace(0.0, L, 23)
    for name, rod in rods.items():
        system = ev.System(ev.Mechanism.clamped(rod))
        file = tmp_path / f"{name}.toml"
        ev.save_model(file, system)
        for again in (ev.load_model(file).system.rod, io.loads(io.dumps(system)).rod):
            assert again.piece_ends == rod.piece_ends
            assert again.breaks == rod.breaks
            assert again.counts == rod.counts
            np.testing.assert_array_equal(again.functions(s), rod.functions(s))
            np.testing.assert_array_equal(again.stiffness(s), rod.stiffness(s))
            np.testing.assert_array_equal(again.rest_strain(s), rod.rest_strain(s))


def test_a_function_with_a_jump_at_a_break_is_stored_from_both_sides():
    rod = one("radius", ev.Legendre.kirchhoff(2), "given")
    again = io.loads(io.dumps(ev.System(ev.Mechanism.clamped(rod)))).rod
    s = np.array([0.5, 1.0 - 1e-9, 1.0 + 1e-9, 1.5]) * AT
    np.testing.assert_allclose(again.stiffness(s), rod.stiffness(s), rtol=1e-12)


def test_a_jump_outside_the_rod_is_refused():
    for build in (
        lambda: ev.Rod(L, ev.Circle(6e-3), MATERIAL, ev.Legendre.kirchhoff(2), breaks=(0.9,)),
        lambda: ev.Rod(L, ev.Circle(ev.Stepped((6e-3, 5e-3), at=(0.9,))), MATERIAL, ev.Legendre.kirchhoff(2)),
    ):
        with pytest.raises(ev.BadInput, match=r"0\.9 m is not inside the rod"):
            build()
    with pytest.raises(ev.BadInput, match="3 values for 1 jumps"):
        ev.Stepped((1.0, 2.0, 3.0), at=(0.1,))


def test_shooting_and_collocation_see_the_jump():
    """Methods without modes, and Spectral(), agree with strain modes on a stepped rod."""
    rod = one("radius", ev.Legendre.kirchhoff(8), "found")
    system = system_of([rod], (0.0, 2.0, 4.0))
    modes = ev.equilibrium(system).tip
    other = ev.rod_equilibrium(system).tip
    np.testing.assert_allclose(modes[:3, 3], other[:3, 3], rtol=0.0, atol=1e-7)
    from dataclasses import replace

    spectral = ev.equilibrium(system_of([replace(rod, integration=ev.Spectral())], (0.0, 2.0, 4.0))).tip
    np.testing.assert_allclose(modes[:3, 3], spectral[:3, 3], rtol=0.0, atol=1e-9)
