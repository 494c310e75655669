"""Pages of the gallery as model files: they say what the pages' code says, and runs come back to the last bit."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elver as ev
from elver.cli.check import check_file
from elver.cli.folders import load_module
from elver.cli.gallery import find_pages

PAGES = find_pages()
FILES = {f"{page.name}/{file.name}": file for page in PAGES.values() for file in page.models}
NEED_CODE = {"blumentals-2017-integrators", "blumentals-2017-ring-in-ring", "levey-2006-sweep"}
STEPS = 20  # of a shortened simulation

pytestmark = pytest.mark.filterwarnings("ignore::elver.errors.ElverWarning")  # planar loops hold some rows twice


def code(page: str, module: str = "run") -> Any:
    return load_module(PAGES[page].path, module)


@cache
def model(name: str) -> ev.Model:
    return ev.load_model(FILES[name])


@dataclass(frozen=True, eq=False)
class Built:
    """A robot as a page's code builds it, with what drives it and where it begins, where the page says so.

    ``also`` are inputs of the file that the robot of the page has not.
    """

    system: ev.System
    inputs: Mapping[str, Any] = field(default_factory=dict)
    q: Any = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()


# What the pages build ---------------------------------------------------------------------------------------------


def elastica(functions: int, **load: Any) -> Built:
    rod = code("elastica").rod(functions)
    return Built(ev.System(ev.Mechanism.clamped(rod), loads=[ev.PointWrench(rod, **load)]))


def tendon_arm(path: str) -> Built:
    system = code("boyer-2023-tendon-arm").arm("arm", path)
    bent = ev.equilibrium(system, {"pull": 15.0}).state.q
    return Built(system, {"pull": 0.0}, bent, {"actuators.pull.path": path})


def statics(path: str) -> Built:
    return Built(code("boyer-2023-statics").arm(path), changes={"actuators.pull.path": path})


def released(page: str, build: str) -> Built:
    """The page leaves the tendon out once it is cut."""
    system, state, *_ = getattr(code(page), build)()
    return Built(system, q=state.q, also=("tendon",))


def soft() -> Built:
    system, state, _ = code("boyer-2023-release").soft()
    return Built(system, {"hold": 0.0}, state.q)


def swimmer(gait: Callable[..., Any]) -> Built:
    page = code("boyer-2023-swimmer")
    rod = page.eel()
    drives, inputs = gait(rod, page.WAVE)
    system = ev.System(ev.Mechanism.free(rod, pose=np.eye(4)), drives, [ev.Lighthill(rod)])
    return Built(system, {system.label(part): signal for part, signal in inputs.items()})


def eel(lift: float = 0.0) -> Built:
    """Places of joints along the body are multiples of 0.14 m in the page."""
    system, inputs = code("khalil-2007-eel", "model").eel().imposed(lift=lift)
    signals = {system.label(part): signal for part, signal in inputs.items()}
    return Built(system, signals, changes={"signals.lift.after": lift})


def planar_eel() -> Built:
    """The same multiples."""
    page = code("eel-gait-study")
    system, inputs = page.swimmer(page.planar_eel(), page.khalil.WAVE)
    return Built(system, {system.label(part): signal for part, signal in inputs.items()})


def drones() -> Built:
    """The chain; its control is code."""
    page = code("gotelli-2024-drones")
    control = {name: page.Controller(target) for name, target in page.TARGETS.items()}
    return Built(ev.System(page.chain(control).mechanism), also=("thrust0", "thrust6"))


def folded(page: str) -> Built:
    """The pulse is a cosine in the page, a sine in the file."""
    robot = code(page).robot()
    return Built(robot, code(page).TORQUES, ev.equilibrium(robot).state.q)


def cantilever(*numbers: float, **changes: Any) -> Built:
    system = code("gotelli-2024-rod-benches").cantilever(*numbers)
    return Built(system, {"pull": 0.0}, ev.equilibrium(system).state.q, changes)


def flying(case: str) -> Built:
    page = code("gotelli-2024-rod-benches")
    if case == "stiff":
        return Built(page.stiff_flight(), dict.fromkeys(("force", "couple"), ev.triangle(1.0, 0.25, 0.5)))
    sign = 1.0 if case == "a" else -1.0
    changes = {"loads.pulse.moment": [0, 100, 200 * sign]}
    return Built(page.soft_flight(sign), {"pulse": ev.triangle(1.0, 2.5, 5.0)}, changes=changes)


def falling(case: str) -> Built:
    """30 degrees are π/6 in the page, which is not the number nearest to them."""
    page = code("gotelli-2024-singularity")
    system = page.robot(page.FAR) if case == "far" else page.robot(page.NEAR, page.DAMPING)
    start = ev.equilibrium(system, page.mirrored(page.UP)).state.q
    return Built(system, page.trajectory(-page.UP), start)


def parallel() -> Built:
    """Tensions are cosines in the page, sines in the file."""
    page = code("gotelli-2024-tendon-parallel")
    pulls = page.PULLS["gentle"]
    system = page.robot().system
    return Built(system, pulls, ev.equilibrium(system, pulls).state.q)


def six_rods() -> Built:
    """Poses of the feet are computed from their places in the page."""
    system = code("spatial-parallel-six-rods").robot(rope=True)
    return Built(system, {"rope": 0.0}, ev.equilibrium(system).state.q)


def two_arms() -> Built:
    """The page adds the pull and its end before it scales them."""
    page = code("two-arm-handling")
    pull, back = ev.smooth_step(0.0, 0.8), ev.smooth_step(1.5, 2.3)
    pulls = {name: (lambda t, f=force: f * (pull(t) - back(t))) for name, force in page.PULLS.items()}
    return Built(page.robot(), pulls, ev.equilibrium(page.robot()).state.q)


def workspace() -> Built:
    page = code("rfrfr-workspace")
    return Built(page.robot(ev.Motor, 3), page.HELD)


BUILT: dict[str, list[Callable[[], Built]]] = {
    "blumentals-2017-direct-methods/model.toml": [
        lambda: Built(code("blumentals-2017-direct-methods").helix("down")),
        lambda: Built(
            code("blumentals-2017-direct-methods").helix("sideways"), changes={"mechanism.pose": {"angle": 0}}
        ),
    ],
    "boyer-2023-critical-step/model.toml": [lambda: released("boyer-2023-critical-step", "released")],
    "boyer-2023-inverse/model.toml": [lambda: Built(code("boyer-2023-inverse").tendon_arm()[2])],
    "boyer-2023-release/model-soft.toml": [soft],
    "boyer-2023-release/model-steel.toml": [lambda: released("boyer-2023-release", "steel")],
    "boyer-2023-statics/model.toml": [lambda: statics("convergent"), lambda: statics("spiral")],
    "boyer-2023-swimmer/model-forward.toml": [lambda: swimmer(ev.muscle_gait)],
    "boyer-2023-swimmer/model-inverse.toml": [lambda: swimmer(ev.rod_gait)],
    "boyer-2023-tendon-arm/model.toml": [lambda: tendon_arm("convergent"), lambda: tendon_arm("spiral")],
    "eel-gait-study/model.toml": [planar_eel],
    "elastica/model-couple.toml": [lambda: elastica(3, moment=(0.0, 0.0, 1.0), name="couple")],
    "elastica/model-force.toml": [lambda: elastica(10, force=(0.0, 1.0, 0.0), name="force")],
    "elastica/model-thrust.toml": [lambda: elastica(20, force=(-1.0, 0.0, 0.0), name="thrust")],
    "gotelli-2024-drones/model.toml": [drones],
    "gotelli-2024-rfrfr/model.toml": [lambda: folded("gotelli-2024-rfrfr")],
    "gotelli-2024-rod-benches/model-soft-cantilever.toml": [lambda: cantilever(10.0, 7800.0, 1e11, 0.005, 50.0)],
    "gotelli-2024-rod-benches/model-stiff-cantilever.toml": [
        lambda: cantilever(0.4, 8000.0, 2e9, 1e-3, 0.4),
        lambda: cantilever(0.4, 8000.0, 2e9, 1e-3, 10.0, **{"loads.pull.force": [0, 10, 0]}),
    ],
    "gotelli-2024-rod-benches/model-soft-flying.toml": [lambda: flying("a"), lambda: flying("b")],
    "gotelli-2024-rod-benches/model-stiff-flying.toml": [lambda: flying("stiff")],
    "gotelli-2024-scheme-contrast/model.toml": [lambda: folded("gotelli-2024-scheme-contrast")],
    "gotelli-2024-singularity/model-far.toml": [lambda: falling("far")],
    "gotelli-2024-singularity/model-near.toml": [lambda: falling("near")],
    "gotelli-2024-tendon-parallel/model.toml": [parallel],
    "khalil-2007-eel/model.toml": [eel, lambda: eel(np.pi / 40.0)],
    "rfrfr-workspace/model.toml": [workspace],
    "spatial-parallel-six-rods/model.toml": [six_rods],
    "two-arm-handling/model.toml": [two_arms],
}
LOADED = {  # run.py loads the file: there is nothing else to compare with
    "boyer-2023-flying-stick/model.toml", "gotelli-2024-modulus/model.toml", "gotelli-2024-tendon-swimmer/model.toml",
}  # fmt: skip
OF_PROBLEMS = {"blumentals-2017-curl/model.toml", "blumentals-2017-elastica/model.toml"}  # tests of their own below
CASES = {f"{name}, {k}" if k else name: (name, k) for name, several in BUILT.items() for k in range(len(several))}


@cache
def built_by(name: str, k: int = 0) -> Built:
    """The robot ``k`` of the page's code that a file is for."""
    return BUILT[name][k]()


# Every page has one -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_model_file_or_says_that_it_needs_code(name):
    page = PAGES[name]
    assert bool(page.models) != (name in NEED_CODE)
    if not page.models:
        pages = load_module(Path(__file__).parents[2] / "docs", "pages")
        assert len(page.code) > 40
        assert "This page needs code." in pages._gallery_page(page.path)


def test_every_file_is_compared_with_its_page():
    assert set(BUILT) | LOADED | OF_PROBLEMS == set(FILES)
    for name in LOADED:
        assert 'with_name("model.toml")' in (FILES[name].parent / "run.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_check_finds_nothing_wrong(name, capsys):
    check_file(FILES[name], [])
    out = capsys.readouterr().out
    assert out.startswith("ok")
    assert "study: " in out
    assert model(name).title


# The file says what the page says ---------------------------------------------------------------------------------


def near(found: Any, wanted: Any, within: float = 1e-12) -> None:
    """Equal but for rounding: pages compute what files write in decimals."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    if wanted.size:
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=within * max(np.abs(wanted).max(), 1e-30))


@pytest.mark.parametrize("case", CASES)
def test_a_file_describes_the_robot_of_its_page(case):
    """Generalized forces and their tangents at a random motion: every number of a robot goes into them."""
    name, k = CASES[case]
    built = built_by(name, k)
    found = ev.load_model(FILES[name], changes=built.changes)
    assert found.system.coordinate_names == built.system.coordinate_names
    assert found.system.coordinate_units == built.system.coordinate_units
    assert sorted(found.system.channel_names) == sorted([*built.system.channel_names, *built.also])
    random = np.random.default_rng(7)
    q, q_dot, q_ddot = 0.1 * random.standard_normal((3, built.system.n))
    values = {name: abs(random.standard_normal()) for name in built.system.channel_names}
    tangents = []
    for system, own in ((found.system, values | dict.fromkeys(built.also, 0.0)), (built.system, values)):
        start = system.rest()
        state = start.with_(q=start.q + q, q_dot=q_dot, q_ddot=q_ddot, time=0.3)
        tangents.append(ev.tangent_inverse_dynamics(system, state, own))
    assert np.linalg.norm(tangents[1].Q) > 0.0
    for part in ("Q", "dQ_dq", "dQ_dq_dot", "dQ_dq_ddot"):
        near(getattr(tangents[0], part), getattr(tangents[1], part))
    near(found.system.mechanism.base.g, built.system.mechanism.base.g)
    assert len(found.system.multipliers) == len(built.system.multipliers)


@pytest.mark.parametrize("case", CASES)
def test_a_file_drives_its_robot_as_the_page_does(case):
    """Signals over the whole study, and the coordinates from which it begins."""
    name, k = CASES[case]
    built = built_by(name, k)
    found = ev.load_model(FILES[name], changes=built.changes)
    for key, signal in built.inputs.items():
        if key not in found.inputs:
            assert signal == 0.0
            continue
        for t in np.linspace(0.0, getattr(found.study, "duration", 1.0), 53):
            ours, page = (s(t) if callable(s) else s for s in (found.inputs[key], signal))
            assert ours == pytest.approx(page, rel=1e-12, abs=1e-11)
    if built.q is not None:
        near(state_of(found).q, built.q, 1e-10)  # of an equilibrium: rounding through a Newton method


def test_the_file_of_the_curl_has_the_rod_of_its_page():
    found = ev.RodProblem.of(model("blumentals-2017-curl/model.toml").system)
    page = code("blumentals-2017-curl")
    wanted, s = page.rod(41.0), np.linspace(0.0, page.LENGTH, 5)
    assert (found.length, found.component) == (wanted.length, wanted.component)
    near(found.stiffness(s)[:, :3], wanted.stiffness(s)[:, :3])
    near(found.inertia(s)[:, 3:], wanted.inertia(s)[:, 3:])
    near(found.rest_strain(s), wanted.rest_strain(s))
    near(found.gravity, wanted.gravity)
    near(found.base.pose, wanted.base.pose)


def test_the_file_of_the_clamped_elastica_has_the_rod_of_its_page():
    """Stiffness and length; and the branches of the page begin where the file finds them.

    With w = √F these are w = nπ for n waves, and tan w = w for shapes with a force across.
    """
    found = model("blumentals-2017-elastica/model.toml")
    wanted, s = code("blumentals-2017-elastica").rod(0.1), np.linspace(0.0, 2.0, 5)
    rod = found.system.rod
    assert (rod.length, tuple(c for c in range(6) if rod.counts[c])) == (wanted.length, wanted.component)
    near(rod.stiffness(s)[:, :3], wanted.stiffness(s)[:, :3])
    study = found.study
    branch = ev.continuation(found.system, study.over, study.stop, study.start, found.inputs, step=study.step)
    assert {point.kind for point in branch.points} == {"branch"}
    wanted = [np.pi, 4.493409457909064, 2.0 * np.pi]
    assert [np.sqrt(point.value) for point in branch.points] == pytest.approx(wanted, rel=1e-6)


# There and back ---------------------------------------------------------------------------------------------------


def state_of(found: ev.Model) -> Any:
    """Where the study begins."""
    state = found.study.state
    if state == "equilibrium":
        return ev.equilibrium(found.system, found.inputs).state
    if isinstance(state, Mapping):
        return ev.equilibrium(found.system, {**found.inputs, **state}).state
    return found.system.rest() if state == "rest" else state


def results(found: ev.Model) -> dict[str, np.ndarray]:
    """Every variable of the study's result."""
    study, system = found.study, found.system
    if study.kind == "simulation":
        run = ev.simulate(
            system, state_of(found), study.duration, study.step, study.method, found.inputs, start=study.start,
            every=study.every,
        )  # fmt: skip
        return {str(name): run[name].values for name in run.variables}
    if study.kind == "continuation":
        branch = ev.continuation(
            system, study.over, study.stop, study.start, found.inputs, step=study.step, max_points=study.max_points,
            tolerance=study.tolerance,
        )  # fmt: skip
        points = np.array([point.value for point in branch.points])
        data = {"values": branch.values, "stable": branch.stable, "points": points}
        several = branch.equilibria
    else:
        several = (
            ev.equilibrium(system, found.inputs, tolerance=study.tolerance, max_iterations=study.max_iterations),
        )
        data = {"iterations": np.array(several[0].iterations), "stable": np.array(several[0].stable)}
    for key in ("q", "g", "multipliers"):
        data[key] = np.array([getattr(at.state, key) for at in several])
    data["inputs"] = np.array([at.inputs for at in several])
    return data


def shortened(study: Any) -> Any:
    """A study of a few steps, so that all pages take seconds."""
    if study.kind == "simulation":
        return replace(study, duration=min(study.duration, STEPS * study.step))
    return replace(study, max_points=min(study.max_points, STEPS)) if study.kind == "continuation" else study


def there_and_back(name: str, folder: Path, shorten: Callable[[Any], Any] = shortened) -> int:
    """Compare the study of a page's robot before and after it was written; the number of variables that agree."""
    page, study = model(name), shorten(model(name).study)
    system = built_by(name).system if name in BUILT and not built_by(name).also else page.system
    first = ev.Model(system, page.inputs, study)
    second = ev.load_model(ev.save_model(folder / "robot.toml", system, page.inputs, study, title=page.title))
    assert second.system is not system
    before, after = results(first), results(second)
    assert set(before) == set(after)
    for key, values in before.items():
        np.testing.assert_array_equal(values, after[key], err_msg=key)
    return len(before)


@pytest.mark.parametrize("name", FILES)
def test_the_study_of_a_page_comes_back_to_the_last_bit(name, tmp_path):
    assert there_and_back(name, tmp_path) >= 6


def test_variations_of_the_pages_come_back_to_the_last_bit(tmp_path):
    """Robots that the pages build beside those of their files."""
    rfrfr, six, eels = code("gotelli-2024-rfrfr"), code("spatial-parallel-six-rods"), code("khalil-2007-eel", "model")
    for system in (rfrfr.robot(cut="apex"), rfrfr.robot(8), six.robot(), eels.eel(rounded=True).driven()[0]):
        study = ev.SimulationStudy(0.02, step=1e-2, state="equilibrium" if not system.free else "rest")
        found = ev.load_model(ev.save_model(tmp_path / "robot.toml", system, {}, study))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ev.ElverWarning)
            before, after = results(ev.Model(system, {}, study)), results(found)
        for key, values in before.items():
            np.testing.assert_array_equal(values, after[key], err_msg=key)
