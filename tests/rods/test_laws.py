"""Section laws: full and nonlinear ones, in Python and compiled, against closed forms and the linear law."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import elver as ev
from elver.dynamics.core import core
from elver.dynamics.states import arrays
from elver.kernels.twin.tree import twin_residual, twin_tangent
from elver.viz.history import cast_of
from elver.viz.measures import RodMeasures
from elver.viz.reports.robot import measures_of

E, G, RADIUS, LENGTH = 1.0e6, 3.5e5, 8e-3, 0.4
AREA, I = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4.0
EI, GJ, EA, GA = E * I, 2.0 * G * I, E * AREA, G * AREA
SILICONE = ev.Material(young=E, poisson=0.45, density=1070.0)
H = (GJ, EI, EI, EA, GA, GA)


def linear(strain, s, parameters, stress, slope):
    """Λ = 𝓗 ε with the diagonal of 𝓗 as parameters."""
    energy = 0.0
    for k in range(6):
        stress[k] = parameters[k] * strain[k]
        slope[k, k] = parameters[k]
        energy += 0.5 * parameters[k] * strain[k] ** 2
    return energy


def stiffening(strain, s, parameters, stress, slope):
    """M = EI κ (1 + a κ²) about z; linear else."""
    energy = 0.0
    for k in range(6):
        stress[k] = parameters[k] * strain[k]
        slope[k, k] = parameters[k]
        energy += 0.5 * parameters[k] * strain[k] ** 2
    a = parameters[6] * parameters[2]
    stress[2] += a * strain[2] ** 3
    slope[2, 2] += 3.0 * a * strain[2] ** 2
    return energy + 0.25 * a * strain[2] ** 4


def neo_hookean(strain, s, parameters, stress, slope):
    """N = EA/3 (λ - 1/λ²) of a stretch λ; W = EA/6 (λ² + 2/λ - 3)."""
    stretch = 1.0 + strain[3]
    stress[3] = parameters[0] / 3.0 * (stretch - 1.0 / stretch**2)
    slope[3, 3] = parameters[0] / 3.0 * (1.0 + 2.0 / stretch**3)
    return parameters[0] / 6.0 * (stretch**2 + 2.0 / stretch - 3.0)


def coupled(strain, s, parameters, stress, slope):
    """A law in which all strains are coupled, with a quartic energy."""
    square = 0.0
    for k in range(6):
        square += parameters[k] * strain[k] ** 2
    for i in range(6):
        stress[i] = parameters[i] * strain[i] * (1.0 + parameters[6] * square)
        for k in range(6):
            slope[i, k] = 2.0 * parameters[6] * parameters[i] * strain[i] * parameters[k] * strain[k]
        slope[i, i] += parameters[i] * (1.0 + parameters[6] * square)
    return 0.5 * square + 0.25 * parameters[6] * square**2


FUNCTIONS = {function.__name__: function for function in (linear, stiffening, neo_hookean, coupled)}
LANES = {"python": FUNCTIONS, "compiled": {name: ev.compiled(function) for name, function in FUNCTIONS.items()}}


@pytest.fixture(params=["python", "compiled"])
def lane(request):
    return LANES[request.param]


def arm(law=None, basis=None, damping=0.0, **more):
    material = ev.Material(young=E, poisson=E / (2.0 * G) - 1.0, density=1070.0, damping=damping)
    section = ev.Section(
        EI_y=EI, EI_z=EI, GJ=GJ, EA=EA, GA_y=GA, GA_z=GA, mass=1070.0 * AREA, half_y=RADIUS, half_z=RADIUS
    )
    return ev.Rod(
        length=LENGTH,
        section=section,
        material=material,
        law=law,
        name="arm",
        basis=basis or ev.Legendre.reissner(3),
        **more,
    )


def clamped(rod, **more):
    return ev.System(ev.Mechanism.clamped(rod), **more)


def tip_pose(system, at):
    return ev.poses(system, at)[-1]


# A law that is the linear one -------------------------------------------------------------------------------


def test_a_law_that_is_linear_gives_what_the_linear_law_gives(lane):
    own, known = (_loaded(law) for law in (ev.Law(lane["linear"], H), None))
    for find in (_equilibrium, _frequencies, _run, _tangent):
        np.testing.assert_allclose(find(own), find(known), rtol=1e-10, atol=1e-10 * np.max(np.abs(find(known))))


def _loaded(law):
    rod = arm(law, damping=0.01)
    tip = ev.PointWrench(rod, "tip", force=(0.05, 0.1, -0.05), moment=(0.002, 0.0, 0.003))
    return clamped(rod, loads=[ev.Gravity(), tip])


def _equilibrium(system):
    return ev.equilibrium(system).state.q


def _frequencies(system):
    return ev.modes(ev.equilibrium(system)).frequencies[:8]


def _run(system):
    return ev.simulate(system, duration=0.05, step=5e-3).q.values[-1]


def _tangent(system):
    found = ev.equilibrium(system)
    return ev.tangent_inverse_dynamics(system, found.state).dQ_dq


# Closed forms -----------------------------------------------------------------------------------------------


def test_a_stiffening_rod_under_a_tip_moment_is_a_circle(lane):
    a = 0.01  # m², so that the cubic part is as large as the linear one at 10/m
    rod = arm(ev.Law(lane["stiffening"], (*H, a)), basis=ev.Legendre(bending=3))
    kappa = 8.0
    moment = EI * kappa * (1.0 + a * kappa**2)
    system = clamped(rod, loads=[ev.PointWrench(rod, "tip", moment=(0.0, 0.0, moment))])
    found = ev.equilibrium(system)
    strain = rod.strain(rod.grid.s, found.state.q)
    np.testing.assert_allclose(strain[:, 2], kappa, rtol=1e-9)  # Newton's tolerance
    s = LENGTH
    np.testing.assert_allclose(
        tip_pose(system, found)[:3, 3], [np.sin(kappa * s) / kappa, (1.0 - np.cos(kappa * s)) / kappa, 0.0], atol=1e-8
    )
    stored = ev.energy(system, found).elastic
    assert stored == pytest.approx(LENGTH * EI * (0.5 * kappa**2 + 0.25 * a * kappa**4), rel=1e-8)


@pytest.mark.parametrize("stretch", [0.8, 1.7, 2.5])
def test_a_neo_hookean_rod_stretches_as_its_law_says(lane, stretch):
    rod = arm(ev.Law(lane["neo_hookean"], (EA,)), basis=ev.Legendre(stretch=2))
    force = EA / 3.0 * (stretch - 1.0 / stretch**2)
    system = clamped(rod, loads=[ev.PointWrench(rod, "tip", force=(force, 0.0, 0.0))])
    found = ev.equilibrium(system)
    np.testing.assert_allclose(rod.strain(rod.grid.s, found.state.q)[:, 3], stretch, rtol=1e-9)
    assert tip_pose(system, found)[0, 3] == pytest.approx(stretch * LENGTH, rel=1e-9)


def test_bending_that_twists_balances_a_couple_as_the_equations_of_a_top_say():
    H_full = np.diag(H)
    H_full[0, 2] = H_full[2, 0] = 0.6 * np.sqrt(GJ * EI)
    rod = arm(ev.FullLaw(H_full), basis=ev.Legendre.kirchhoff(9))
    compliance = np.linalg.inv(H_full[:3, :3])
    values, axes = np.linalg.eigh(H_full[:3, :3])
    for couple in (3.0 * values[2] * axes[:, 2], np.array([0.0, 0.0, 1.5 * EI])):
        tip = ev.PointWrench(rod, "tip", moment=couple, frame="section")
        found = ev.equilibrium(clamped(rod, loads=[tip]), branch="connected")
        # C' = -K × C with K = 𝓗⁻¹ C, from the tip; along a principal axis C and K stay as they are
        s = np.linspace(0.0, LENGTH, 9)
        way = solve_ivp(
            lambda _, C: -np.cross(compliance @ C, C), (LENGTH, 0.0), couple, t_eval=s[::-1], rtol=1e-11, atol=1e-15
        )
        expected = (compliance @ way.y).T[::-1]
        curvature = rod.strain(s, found.state.q)[:, :3]
        np.testing.assert_allclose(curvature, expected, atol=1e-6 * np.max(np.abs(expected)))  # truncation
    np.testing.assert_allclose(way.y[:, -1] @ way.y[:, -1], couple @ couple)


def test_a_full_law_with_a_diagonal_is_the_common_one():
    for full in (ev.FullLaw(np.diag(H)), ev.FullLaw(lambda s: np.tile(np.diag(H), (np.size(s), 1, 1)))):
        np.testing.assert_allclose(_equilibrium(_loaded(full)), _equilibrium(_loaded(None)), rtol=1e-12, atol=1e-13)


# Derivatives, energy, other ways to a solution --------------------------------------------------------------


def test_the_tangent_is_that_of_the_residual(lane):
    system = _loaded(ev.Law(lane["coupled"], (*H, 1.0 / (EI * 25.0))))
    rng = np.random.default_rng(1)
    state = system.rest().with_(q=rng.normal(size=system.n) * np.where(system.rod.component < 3, 3.0, 0.05))
    K = ev.tangent_inverse_dynamics(system, state).dQ_dq
    step = 1e-6
    found = np.empty_like(K)
    for k in range(system.n):
        moved = [state.with_(q=state.q + sign * step * np.eye(system.n)[k]) for sign in (1.0, -1.0)]
        found[:, k] = (ev.inverse_dynamics(system, moved[0]) - ev.inverse_dynamics(system, moved[1])) / (2.0 * step)
    np.testing.assert_allclose(K, found, atol=1e-7 * np.max(np.abs(K)))


def test_energy_is_kept(lane):
    # What steps bring in is known exactly, and velocities give it back: to rounding where they can.
    for name, last, step in (("stiffening", 0.01, 5e-3), ("coupled", 1.0 / (EI * 25.0), 1e-3)):
        rod = arm(ev.Law(lane[name], (*H, last)))
        system = clamped(rod)
        q = np.zeros(system.n)
        q[rod.component == 2] = (6.0, 2.0, -1.0)
        q[rod.component == 0] = (2.0, 1.0, 0.5)
        start = system.rest().with_(q=q)
        run = ev.simulate(system, start, duration=0.06, step=step, method=ev.Conserving())
        total = run["energy/total"].values
        np.testing.assert_allclose(total, total[0], rtol=1e-10)  # rounding, and what Newton leaves
        assert abs(run.attrs["energy_error"]) < 1e-9
        assert run["energy/elastic"].values.min() < 0.7 * total[0]  # the energy was in play
        s, weights = rod.grid.s, rod.grid.weights
        stored = rod.elasticity(s, rod.strain(s, q) - rod.rest_strain(s))[2]
        assert total[0] == pytest.approx(weights @ stored, rel=1e-12)


def test_elimination_along_the_tree_agrees_with_the_matrix(lane):
    law = ev.Law(lane["coupled"], (*H, 1.0 / (EI * 25.0)))
    for one in (law, ev.FullLaw(_spd())):
        rod = arm(one, basis=ev.PiecewiseLinear.reissner(12))
        tip = ev.PointWrench(rod, "tip", force=(0.05, 0.1, -0.05))
        system = clamped(rod, loads=[ev.Gravity(), tip])
        found = ev.equilibrium(system)
        R = ev.inverse_dynamics(system, found)
        assert np.max(np.abs(R)) < 1e-8 * np.max(np.abs(ev.inverse_dynamics(system, system.rest())))


def _spd():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6, 6)) * 0.2
    root = np.sqrt(np.diag(H))
    return root @ (np.eye(6) + A @ A.T) @ root


def test_the_kernels_and_their_twin_agree(lane):
    system = _loaded(ev.Law(lane["coupled"], (*H, 1.0 / (EI * 25.0))))
    rng = np.random.default_rng(4)
    state = system.rest().with_(
        q=rng.normal(size=system.n) * np.where(system.rod.component < 3, 3.0, 0.05), q_dot=rng.normal(size=system.n)
    )
    kernels, a, u = core(system), arrays(state), np.ones(system.input_size)
    given = kernels.program, a.base, a.twist, a.q, a.multipliers, u
    weights = np.array([1.0, 0.3, 0.2])
    R, matrix = twin_residual(*given), twin_tangent(*given, weights)
    np.testing.assert_allclose(kernels.residual(a, u), R, atol=1e-12 * np.max(np.abs(R)))
    np.testing.assert_allclose(kernels.tangent(a, u, tuple(weights)), matrix, atol=1e-12 * np.max(np.abs(matrix)))


def test_both_lanes_give_the_same_numbers():
    found = []
    for functions in LANES.values():
        system = _loaded(ev.Law(functions["coupled"], (*H, 1.0 / (EI * 25.0))))
        found.append((ev.equilibrium(system).state.q, ev.simulate(system, duration=0.03, step=5e-3).q.values))
    for python, machine in zip(*found, strict=True):
        np.testing.assert_allclose(python, machine, rtol=1e-12, atol=1e-12 * np.max(np.abs(machine)))


# What is refused, and what travels --------------------------------------------------------------------------


def wrong_slope(strain, s, parameters, stress, slope):
    stress[2], slope[2, 2] = parameters[2] * strain[2] ** 3 + parameters[2] * strain[2], parameters[2]
    return parameters[2] * (0.25 * strain[2] ** 4 + 0.5 * strain[2] ** 2)


def wrong_energy(strain, s, parameters, stress, slope):
    stress[2], slope[2, 2] = parameters[2] * strain[2], parameters[2]
    return parameters[2] * strain[2] ** 2


def no_energy(strain, s, parameters, stress, slope):
    stress[2], slope[2, 2] = parameters[2] * strain[2], parameters[2]


def no_stiffness(strain, s, parameters, stress, slope):
    stress[2], slope[2, 2] = strain[2] ** 3, 3.0 * strain[2] ** 2
    return 0.25 * strain[2] ** 4


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (wrong_slope, r"law 'odd': slope\[2, 2\] = .*stress\[2\] changes by"),
        (wrong_energy, r"law 'odd': stress\[2\] = .*energy that it returns changes by"),
        (no_energy, "law 'odd': its function returns no energy"),
        (no_stiffness, "slope of its law at rest.*not positive definite"),
    ],
)
def test_a_law_that_contradicts_itself_is_refused(function, words):
    for one in (function, ev.compiled(function)):
        with pytest.raises(ev.BadInput, match=words):
            arm(ev.Law(one, H, name="odd"), basis=ev.Legendre(bending_z=2))


def test_other_values_are_refused():
    with pytest.raises(ev.BadInput, match=r"rod 'arm': law is .*; give Law"):
        arm("soft")
    with pytest.raises(ev.BadInput, match="takes 2 arguments; let it take 5"):
        ev.Law(lambda strain, s: 0.0)
    with pytest.raises(ev.BadInput, match=r"function is .*; give a function \(strain, s, parameters"):
        ev.Law(3.0)
    lop = np.diag(H)
    lop[0, 2] = 1.0
    with pytest.raises(ev.BadInput, match=r"stiffness\[0, 2\] = 1 and stiffness\[2, 0\] = 0 differ"):
        ev.FullLaw(lop)
    with pytest.raises(ev.BadInput, match="not positive definite"):
        arm(ev.FullLaw(np.diag([GJ, EI, -EI, EA, GA, GA])))

    def raises(strain, s, parameters, stress, slope):
        raise ValueError

    with pytest.raises(ev.BadInput, match="raises an exception, which machine code cannot"):
        ev.compiled(raises)


def test_slopes_may_be_left_out_in_python():
    def short(strain, s, parameters, stress):
        stress[:] = parameters * strain
        return 0.5 * parameters @ strain**2

    np.testing.assert_allclose(_equilibrium(_loaded(ev.Law(short, H))), _equilibrium(_loaded(None)), rtol=1e-8)


def test_what_a_function_raises_comes_through():
    calls = []

    def fails_late(strain, s, parameters, stress, slope):
        calls.append(s)
        if abs(strain[2]) > 1.0 and len(calls) > 200:
            raise ZeroDivisionError("too bent")
        return linear(strain, s, parameters, stress, slope)

    rod = arm(ev.Law(fails_late, H, name="brittle"))
    system = clamped(rod, loads=[ev.PointWrench(rod, "tip", moment=(0.0, 0.0, 8.0 * EI))])
    with pytest.raises(ZeroDivisionError, match="too bent") as found:
        ev.equilibrium(system)
    assert "law 'brittle', at the strain" in found.value.__notes__[0]
    assert np.isfinite(ev.inverse_dynamics(system)).all()  # nothing is left over


def limited(strain, s, parameters, stress, slope):
    """Locks at a curvature of 3/m: no number beyond."""
    energy = linear_part(strain, parameters, stress, slope)
    x = (strain[2] / 3.0) ** 2
    if x >= 1.0:
        stress[2] = np.nan
        return np.nan
    stress[2] = parameters[2] * strain[2] / (1.0 - x)
    slope[2, 2] = parameters[2] * (1.0 + x) / (1.0 - x) ** 2
    return energy - 0.5 * parameters[2] * strain[2] ** 2 - 4.5 * parameters[2] * np.log(1.0 - x)


@ev.compiled
def limited_compiled(strain, s, parameters, stress, slope):
    energy = 0.0
    for k in range(6):
        stress[k] = parameters[k] * strain[k]
        slope[k, k] = parameters[k]
        energy += 0.5 * parameters[k] * strain[k] ** 2
    x = (strain[2] / 3.0) ** 2
    if x >= 1.0:
        stress[2] = np.nan
        return np.nan
    stress[2] = parameters[2] * strain[2] / (1.0 - x)
    slope[2, 2] = parameters[2] * (1.0 + x) / (1.0 - x) ** 2
    return energy - 0.5 * parameters[2] * strain[2] ** 2 - 4.5 * parameters[2] * np.log(1.0 - x)


def linear_part(strain, parameters, stress, slope):
    return linear(strain, 0.0, parameters, stress, slope)


@pytest.mark.parametrize("function", [limited, limited_compiled])
def test_a_law_without_an_answer_is_named(function):
    rod = arm(ev.Law(function, H, name="locking"), basis=ev.Legendre(bending=3))
    system = clamped(rod, loads=[ev.PointWrench(rod, "tip", moment=(0.0, 0.0, 6.0 * EI))])
    # Newton comes back from where there is no answer: M = EI κ/(1 - κ²/9)
    found = ev.equilibrium(system)
    kappa = rod.strain([0.5 * LENGTH], found.state.q)[0, 2]
    assert kappa / (1.0 - kappa**2 / 9.0) == pytest.approx(6.0, rel=1e-8)
    q = np.zeros(system.n)
    q[rod.component == 2] = (4.0, 0.0, 0.0)
    with pytest.raises(ev.BadInput, match="law 'locking' is not finite at the strain"):
        ev.inverse_dynamics(system, system.rest().with_(q=q))


def test_c_functions_by_object_and_by_address():
    numba = pytest.importorskip("numba")
    types, carray = numba.types, numba.carray
    pointer = types.CPointer(types.float64)

    @numba.cfunc(types.float64(pointer, types.float64, types.float64, pointer, pointer, pointer))
    def given(strain, s, value, parameters, stress, slope):
        x, p, out, d = carray(strain, (6,)), carray(parameters, (6,)), carray(stress, (6,)), carray(slope, (6, 6))
        energy = 0.0
        for k in range(6):
            out[k], d[k, k] = p[k] * x[k], p[k]
            energy += 0.5 * p[k] * x[k] ** 2
        return energy

    for one in (given, given.address):
        system = _loaded(ev.Law(one, H))
        np.testing.assert_allclose(_equilibrium(system), _equilibrium(_loaded(None)), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(_equilibrium(copy.deepcopy(system)), _equilibrium(system), rtol=1e-14)
        with pytest.raises(pickle.PicklingError, match="cannot be sent to another process"):
            pickle.dumps(system)


@ev.compiled
def on_its_way(strain, s, parameters, stress, slope):
    energy = 0.0
    for k in range(6):
        stress[k], slope[k, k] = parameters[k] * strain[k], parameters[k]
        energy += 0.5 * parameters[k] * strain[k] ** 2
    return energy


@pytest.mark.parametrize("function", [linear, on_its_way])
def test_systems_travel(function):
    system = _loaded(ev.Law(function, H))
    q = _equilibrium(system)
    for other in (copy.deepcopy(system), copy.copy(system), pickle.loads(pickle.dumps(system))):
        np.testing.assert_array_equal(_equilibrium(other), q)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_allclose(pool.apply(_equilibrium, (system,)), q, rtol=1e-12)
    with pytest.raises(pickle.PicklingError, match="which another process cannot find by its name"):
        pickle.dumps(_loaded(_lambda_law()))


def _lambda_law():
    return ev.Law(lambda strain, s, parameters, stress, slope: linear(strain, s, parameters, stress, slope), H)


def test_designs_share_a_structure_and_functions_do_not():
    soft, stiff = (_loaded(ev.Law(stiffening, (*H, a))) for a in (0.01, 0.02))
    structure = ev.structure_of(soft)
    np.testing.assert_array_equal(ev.values_of(structure, stiff).own_parameters[:-1], (*H, 0.02))
    with pytest.raises(ev.BadInput, match="linear"):
        ev.values_of(structure, _loaded(ev.Law(linear, H)))


def test_what_knows_no_function_of_ones_own_says_so():
    rod = arm(ev.Law(linear, H), integration=ev.Spectral())
    push = ev.FrameLoad((rod, "tip"), lambda g, eta, amount, parameters, wrench: None, name="push")
    with pytest.raises(ev.BadInput, match="'push': Spectral integration has no frame for a load"):
        ev.equilibrium(clamped(rod, loads=[push]))


def test_colours_tell_what_a_law_says():
    """Of a law no fibre is known; moment and force are those of the closed form, and of a linear rod E I kappa."""
    a, bend = 0.01, 8.0
    s = np.linspace(0.0, LENGTH, 5)
    for law, moment in ((ev.Law(stiffening, (*H, a)), EI * bend * (1.0 + a * bend**2)), (None, EI * bend)):
        rod = arm(law, basis=ev.Legendre(bending=1, stretch=1))
        shown, q = RodMeasures(rod, s), np.zeros((2, rod.n))
        q[:, rod.coordinate_names.index("K_z[0]")], q[:, rod.coordinate_names.index("G_x[0]")] = bend, 0.02
        np.testing.assert_allclose(shown("moment", q), moment)
        np.testing.assert_allclose(shown("force", q), 0.02 * EA)
        assert ("stress" in shown.names) == (law is None)
    with pytest.raises(ev.BadInput, match="has a Law, which says what the section bears and not which fibre"):
        RodMeasures(arm(ev.Law(linear, H)), s)("stress", np.zeros(18))


def test_a_report_of_a_law_of_ones_own_tells_its_resultants():
    system = _loaded(ev.Law(stiffening, (*H, 0.01)))
    run = ev.simulate(system, duration=0.05, step=5e-3)
    cast = cast_of(run)
    told, values = measures_of(cast, np.arange(3), [np.tile(np.eye(3), (3, len(cast.rods[0].s), 1, 1))], run, system)
    assert [one["name"] for one in told] == ["curvature", "strain", "moment", "force"]
    assert len(values) == 4


def test_files(tmp_path):
    coupled_stiffness = np.diag(H)
    coupled_stiffness[0, 2] = coupled_stiffness[2, 0] = 0.3 * np.sqrt(GJ * EI)
    system = _loaded(ev.FullLaw(coupled_stiffness))
    ev.save_model(tmp_path / "full.toml", system)
    again = ev.load_model(tmp_path / "full.toml").system
    np.testing.assert_allclose(_equilibrium(again), _equilibrium(system), rtol=1e-12)
    with pytest.raises(ev.BadInput, match="law"):
        ev.save_model(tmp_path / "own.toml", _loaded(ev.Law(linear, H)))
