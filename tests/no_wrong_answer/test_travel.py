"""Systems travel (issue list, section 4): through pickle, copies, processes and threads, bit for bit.

Every answer is compared with that of the same call made alone in this process, without tolerance: the same program
on the same numbers gives the same bits.
"""

import copy
import multiprocessing
import pickle
import sys
import threading
from dataclasses import fields, is_dataclass
from functools import cached_property

import numpy as np
import pytest

import elver as ev
from elver.dynamics.core import Core, core
from elver.dynamics.states import arrays
from elver.integrators.stepper import Stepper
from elver.values import Carried

SOFT = ev.Material(young=1e6, poisson=0.45, density=1070.0)


def a_rod(name="arm", **more):
    return ev.Rod(0.4, ev.Circle(8e-3), SOFT, ev.Legendre(bending=4, torsion=2), name=name, **more)


def pulled_arm():
    """A rod with a tendon and its weight."""
    arm = a_rod()
    tendon = ev.Tendon(arm, ev.parallel(y=0.0, z=6e-3), name="pull")
    return ev.System(ev.Mechanism.clamped(arm), actuators=[tendon], loads=[ev.Gravity()])


def closed_loop():
    """Two rods, a body between them, a spring and a motor: joints, closures, channels of several kinds."""
    left, right = a_rod("left"), a_rod("right")
    plate = ev.RigidBody.box((0.02, 0.02, 0.02), density=1000.0, name="plate")
    foot = ev.Revolute("world", (left, "base"), axis="y", name="foot", start=-0.5 * np.pi)
    joints = [
        foot,
        ev.Fixed((left, "tip"), plate),
        ev.Revolute(("world", (0.1, 0.0, 0.0)), (right, "base"), axis="y", name="other", start=-0.5 * np.pi),
        ev.Revolute((right, "tip"), (plate, (0.0, 0.0, -0.1)), axis="y", name="top"),
    ]
    loads = [ev.Gravity(), ev.JointSpring(foot, stiffness=1.0, rest=-0.5 * np.pi)]
    return ev.System(ev.Mechanism(joints), [ev.Motor(foot, name="motor")], loads)


def spooled_cable():
    """A spooled cable that leaves the rod and runs free to a guide in the world."""
    arm = a_rod()
    cable = ev.SpooledTendon([arm, ("world", (0.45, 0.1, 0.0))], ev.parallel(z=6e-3), name="cable")
    return ev.System(ev.Mechanism.clamped(arm), actuators=[cable], loads=[ev.Gravity()])


def collocated():
    """A rod evaluated by collocation, whose solvers run in Python."""
    arm = ev.Rod(0.4, ev.Circle(8e-3), SOFT, ev.Legendre.planar(3), name="arm", nodes=6, integration=ev.Spectral())
    return ev.System(ev.Mechanism.clamped(arm), actuators=[ev.Tendon(arm, ev.parallel(y=6e-3), name="pull")])


def drag(t, g, eta):
    """A wrench of one's own."""
    return -1e-4 * eta


def steered():
    """A rod with a wrench that is a Python function."""
    arm = a_rod()
    return ev.System(ev.Mechanism.clamped(arm), loads=[ev.Feedback((arm, "tip"), drag, name="drag"), ev.Gravity()])


SYSTEMS = {f.__name__: f for f in (pulled_arm, closed_loop, spooled_cable, collocated, steered)}


@pytest.fixture(params=SYSTEMS)
def make(request):
    """A function that makes a system."""
    return SYSTEMS[request.param]


@pytest.fixture
def system(make):
    return make()


def moved(system, seed=0):
    """A state in motion."""
    random = np.random.default_rng(seed)
    rest = system.rest()
    q = rest.q + 0.3 * random.normal(size=system.n)
    return rest.with_(q=q, q_dot=random.normal(size=system.n), q_ddot=random.normal(size=system.n))


def answers(system, state):
    """Numbers of several kinds, from kernels that leave their result in scratch arrays."""
    return [
        ev.inverse_dynamics(system, state),
        ev.mass_matrix(system, state),
        ev.forward_dynamics(system, state).q_ddot,
        ev.poses(system, state, system.mechanism.parts[0]),
    ]


def assert_same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


# ----------------------------------------------------------------------------------------------------- pickle, copies


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "copy"])
def test_a_used_system_travels_with_its_fields_only(make, system, way):
    """Pickle segfaulted the receiver, deepcopy gave wrong residuals: addresses of arrays travelled."""
    state = moved(system)
    wanted = answers(system, state)
    size = len(pickle.dumps(make()))
    go = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy, "copy": copy.copy}[way]
    other = go(system)
    # spoil the scratch arrays of the first, which the second must not know
    answers(system, moved(system, seed=1))
    assert_same(answers(other, state), wanted)
    assert_same(answers(system, state), wanted)
    assert len(pickle.dumps(system)) == size, "what was computed travels along"


def test_parts_and_inputs_sent_together_still_know_each_other():
    """Channels are keyed by identity, which one pickle and one deepcopy keep; names always work."""
    system = closed_loop()
    motor = system.actuators[0]
    wanted = ev.equilibrium(system, {motor: 0.02}).state.q
    for other, inputs in (
        pickle.loads(pickle.dumps((system, {motor: 0.02}))),
        copy.deepcopy((system, {motor: 0.02})),
        (pickle.loads(pickle.dumps(system)), {"motor": 0.02}),
    ):
        np.testing.assert_array_equal(ev.equilibrium(other, inputs).state.q, wanted)
    with pytest.raises(ev.BadInput, match=r"'motor' is not part of this system.*a copy.*by name"):
        ev.equilibrium(pickle.loads(pickle.dumps(system)), {motor: 0.02})


def test_an_equilibrium_and_an_error_travel():
    """An Equilibrium from a process pool killed the parent."""
    system = pulled_arm()
    found = ev.equilibrium(system, {"pull": 2.0})
    other = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(other.tip, found.tip)
    assert ev.stability(other.system, other).stable
    error = pickle.loads(pickle.dumps(ev.NotConverged("no", history=[1.0], result=found)))
    np.testing.assert_array_equal(error.result.tip, found.tip)


def caches(value, seen):
    """Names of what lies beside the fields of the dataclasses in ``value``."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, tuple | list):
        for item in value:
            yield from caches(item, seen)
    if is_dataclass(value):
        names = {field.name for field in fields(value)}
        yield from (f"{type(value).__name__}.{name}" for name in set(vars(value)) - names)
        for name in names:
            yield from caches(getattr(value, name), seen)


def test_no_description_carries_a_cache(system):
    """Whatever a part of a system keeps beside its fields stays at home."""
    answers(system, moved(system))
    assert list(caches(system, {})), "nothing was kept: this test tests nothing"
    assert list(caches(pickle.loads(pickle.dumps(system)), {})) == []
    assert list(caches(copy.deepcopy(system), {})) == []


def test_a_stepper_travels_and_goes_on():
    """A motion that is under way: its matrix and its memory travel too."""
    system = pulled_arm()
    stepper = Stepper(system, system.rest(), 1e-3, ev.Newmark(), {"pull": 1.0})
    stepper.advance(20)
    others = [pickle.loads(pickle.dumps(stepper)), copy.deepcopy(stepper)]
    for one in (stepper, *others):
        one.advance(20)
    for other in others:
        np.testing.assert_array_equal(other.state.q, stepper.state.q)


def test_a_function_without_a_name_is_named():
    """A lambda cannot be pickled: the message says which, and what to do; a copy in the same process may have it."""
    arm = a_rod("bent", rest=lambda s: np.column_stack([0 * s, 0 * s, 1.0 + s]))
    system = ev.System(ev.Mechanism.clamped(arm))
    for value in (system, arm, ev.equilibrium(system)):
        with pytest.raises(pickle.PicklingError, match=r"rod 'bent'.*rest.*<lambda>.*def.*cloudpickle"):
            pickle.dumps(value)
    assert_same(answers(copy.deepcopy(system), system.rest()), answers(system, system.rest()))


def test_picklers_that_know_how_to_send_a_lambda_may():
    """cloudpickle and its kin send code; they are not held up."""
    arm = a_rod(rest=lambda s: np.column_stack([0 * s, 0 * s, 1.0 + s]))
    space = {"__name__": "cloudpickle", "value": arm}
    exec("state = value.__getstate__()", space)  # as a pickler of that module would
    assert space["state"]["rest"] is arm.rest


# ------------------------------------------------------------------------------------------------------- processes


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_other_processes_give_the_same_bits(method):
    """Sent to a process and back, used before and after."""
    system = closed_loop()
    state = moved(system)
    wanted = answers(system, state)
    still = ev.equilibrium(system)
    run = ev.simulate(system, still, duration=0.05, step=5e-3, inputs={"motor": 0.01})
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = [
            pool.apply(ev.inverse_dynamics, (system, state)),
            pool.apply(ev.mass_matrix, (system, state)),
            pool.apply(ev.forward_dynamics, (system, state)).q_ddot,
            pool.apply(ev.poses, (system, state, system.mechanism.part("left"))),
        ]
        theirs = pool.apply(ev.equilibrium, (system,))
        their_run = pool.apply(ev.simulate, (system, still, 0.05, 5e-3, None, {"motor": 0.01}))
    assert_same(found[:3], wanted[:3])
    np.testing.assert_array_equal(theirs.state.q, still.state.q)
    np.testing.assert_array_equal(theirs.pose("plate"), still.pose("plate"))
    np.testing.assert_array_equal(their_run["q"].values, run["q"].values)
    assert_same(answers(system, state), wanted)


# --------------------------------------------------------------------------------------------------------- threads


def together(count, work):
    """Results of ``work(k)`` for k below ``count``, each in a thread of its own, begun at the same time."""
    found, begin = [None] * count, threading.Barrier(count)

    def run(k):
        begin.wait()
        try:
            found[k] = work(k)
        except BaseException as error:  # a thread's own errors would be lost
            found[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


@pytest.fixture
def busy_switching():
    """Threads that take turns often, as they would in a long program."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(before)


def test_eight_threads_on_one_system(make, busy_switching):
    """Four threads on one system returned mass matrices up to 29 % off."""
    system, serial = make(), make()
    states = [moved(system, seed=k) for k in range(8)]
    wanted = [answers(serial, state) for state in states]
    calls = 20 if type(core(serial)) is Core else 1  # solvers in Python switch threads often enough
    # the system is new to all threads: it is also compiled into arrays while they wait
    for found, right in zip(together(8, lambda k: [answers(system, states[k]) for _ in range(calls)]), wanted):
        for each in found:
            assert_same(each, right)


def test_solvers_in_threads(busy_switching):
    """Equilibria, modes and runs of one system, beside each other."""
    system = pulled_arm()

    def work(k):
        still = ev.equilibrium(system, {"pull": 0.5 * k})
        run = ev.simulate(system, still, duration=0.03, step=5e-3)
        return [still.state.q, still.tip, ev.stability(system, still).eigenvalues, run["q"].values]

    wanted = [work(k) for k in range(4)]
    for found, right in zip(together(4, work), wanted, strict=True):
        assert_same(found, right)


# ------------------------------------------------------------------------------- one system, several cores and runs


def test_a_second_core_leaves_the_first_alone():
    """The free span of a cable was added to the length at rest once for each Core."""
    system = spooled_cable()
    state = system.rest()
    u = system.input_vector(system.signals(None), 0.0)
    first = core(system)
    wanted = first.residual(arrays(state), u)
    second = Core(system)
    np.testing.assert_array_equal(first.residual(arrays(state), u), wanted)
    np.testing.assert_array_equal(second.residual(arrays(state), u), wanted)


METHODS = [ev.Newmark(), ev.GeneralizedAlpha(0.8), ev.ImplicitMidpoint(), ev.RungeKutta4()]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_run_owns_its_matrix(method):
    """What else is asked of the system while a run is computed does not change a bit of it."""
    step = 2e-5 if isinstance(method, ev.RungeKutta4) else 2e-3
    system = pulled_arm()
    duration = 200 * step
    alone = ev.simulate(pulled_arm(), duration=duration, step=step, method=method, inputs={"pull": 1.0})

    def disturb(time, end):
        ev.mass_matrix(system, moved(system))
        ev.tangent_inverse_dynamics(system, moved(system))

    run = ev.simulate(
        system, duration=duration, step=step, method=method, inputs={"pull": 1.0}, progress=disturb
    )
    np.testing.assert_array_equal(run["q"].values, alone["q"].values)


def test_interleaved_runs_of_one_system():
    """A run within a run, and a stepper beside both."""
    system = pulled_arm()
    inner, beside = [], Stepper(system, system.rest(), 1e-3, ev.Newmark(), {"pull": 2.0})

    def another(time, end):
        beside.advance(3)
        if len(inner) < 2:
            inner.append(ev.simulate(system, duration=0.05, step=2e-3, inputs={"pull": 3.0}))

    outer = ev.simulate(system, duration=0.4, step=2e-3, inputs={"pull": 1.0}, progress=another)
    steps = round(beside.time / 1e-3)
    alone = Stepper(pulled_arm(), system.rest(), 1e-3, ev.Newmark(), {"pull": 2.0})
    for _ in range(steps // 3):
        alone.advance(3)
    fresh = [ev.simulate(pulled_arm(), duration=d, step=2e-3, inputs={"pull": p}) for d, p in ((0.4, 1.0), (0.05, 3.0))]
    np.testing.assert_array_equal(outer["q"].values, fresh[0]["q"].values)
    for run in inner:
        np.testing.assert_array_equal(run["q"].values, fresh[1]["q"].values)
    np.testing.assert_array_equal(beside.state.q, alone.state.q)


def test_efforts_are_found_beside_the_run(tmp_path, monkeypatch):
    """With an imposed motion and a file, the efforts of each chunk were found in the arrays of the run itself."""
    joint = ev.Revolute("world", (link := ev.RigidBody.box((0.2, 0.02, 0.02), density=500.0, name="link")), axis="y")
    arm = a_rod()
    swing = ev.Imposed(joint, name="swing")
    system = ev.System(ev.Mechanism([joint, ev.Fixed(link, (arm, "base"))]), [swing], [ev.Gravity()])
    signal = ev.sine(0.0, 0.4, frequency=1.0)
    alone = ev.simulate(system, duration=0.05, step=1e-3, inputs={swing: signal}, method=ev.Newmark())
    monkeypatch.setattr(sys.modules["elver.integrators.simulate"], "_CHUNK_SECONDS", 0.0)  # small chunks,
    monkeypatch.setattr("elver.integrators.recording._WRITE_SECONDS", 0.0)  # all written
    file = tmp_path / "run.nc"
    run = ev.simulate(system, duration=0.05, step=1e-3, inputs={swing: signal}, method=ev.Newmark(), file=file)
    np.testing.assert_array_equal(run["q"].values, alone["q"].values)


def test_whoever_keeps_something_beside_its_fields_travels_without_it():
    """Every public dataclass with a cached_property, now and in future."""
    found = [value for name in dir(ev) if isinstance(value := getattr(ev, name), type) and is_dataclass(value)]
    keepers = [c for c in found if any(isinstance(getattr(c, name, None), cached_property) for name in dir(c))]
    assert {ev.System, ev.Rod, ev.Mechanism} <= set(keepers)
    assert [c for c in keepers if not issubclass(c, Carried)] == []
