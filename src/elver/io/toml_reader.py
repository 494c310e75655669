"""A model file read key by key: parts by their names, each built by the constructor of its class.

The arguments of a constructor are what the file gives; kinds and units of keys are those of its fields, numbers and
errors those of toml_document. A file holds no code.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from elver.errors import BadInput
from elver.io.model_fields import GAITS, GROUPS, METHODS, SECTIONS, STUDY_FIELDS, kinds_of
from elver.io.toml_document import Document, KeyPath, any_of, example, meant, short
from elver.io.toml_values import STUDIES, Model, SimulationStudy, Study, arguments, file_types, method_types
from elver.io.units import quantity

__all__ = ["ModelReader"]


class ModelReader:
    """One file on its way to a model."""

    def __init__(self, path: Path, changes: Mapping[str, Any], outside: bool) -> None:
        self.file = Document(path, changes, outside)
        self.types = file_types()
        self.built: dict[str, Any] = {}
        self.building: list[str] = []

    # Names

    def named(self, name: str, group: str, path: KeyPath, same: str) -> Any:
        """The value called ``name``, built once."""
        section = self.file.where.get(name)
        fitting = [other for other, s in self.file.where.items() if self._fits(s, group)]
        if section is None:
            self.file.fail(path, f"nothing in this file is called {name!r}; {meant(name, fitting, 'a ' + group)}")
        if name in self.building:
            chain = " -> ".join((*self.building, name))
            self.file.fail(path, f"{name!r} refers to itself ({chain}); break the circle")
        if section == "signals":  # checked against the unit of each input it is for
            self.building.append(name)
            signal = self.value("same @signal", self.file.tables[section][name], (section, name), same)
            self.building.pop()
            return signal
        if name not in self.built:
            self.building.append(name)
            self.built[name] = self.make(
                SECTIONS[section], self.file.tables[section][name], (section, name), same, name
            )
            self.building.pop()
        value = self.built[name]
        if type(value).__name__ not in GROUPS[group]:
            close = meant(name, fitting, f"a {group}")
            self.file.fail(path, f"{name!r} is a {type(value).__name__}, not a {group}; {close}")
        return value

    def _fits(self, section: str, group: str) -> bool:
        return bool(set(GROUPS[SECTIONS[section]]) & set(GROUPS[group]))

    # Values

    def make(self, group: str, raw: Any, path: KeyPath, same: str = "any", name: str | None = None) -> Any:
        """A value of a group from its table."""
        if not isinstance(raw, dict):
            self.file.fail(path, f"{short(raw)} is no {group}; write a table with type = {any_of(GROUPS[group])}")
        raw = self.file.expanded(raw, path)
        allowed = GROUPS[group]
        kind = raw.get("type", allowed[0] if len(allowed) == 1 else None)
        if kind is None:
            self.file.fail(path, f"the key 'type' is missing; add type = {any_of(allowed)}")
        if not isinstance(kind, str) or kind not in allowed:
            close = meant(str(kind), allowed, f"a {group}")
            self.file.fail((*path, "type"), f"type = {short(kind)} is no {group}; {close}")
        cls = self.types[kind]
        keys = arguments(cls)
        given = {key: value for key, value in raw.items() if key != "type"}
        if kind == "SampledSignal" and "file" in given:
            given = self.file.table(given, path)
        if name is not None and "name" in keys:
            given.setdefault("name", name)
        if kind == "RigidBody" and ("density" in given or given.get("inertia") == "solid"):
            if given.pop("inertia", "solid") != "solid":
                self.file.fail(
                    (*path, "inertia"), "with density the inertia is that of the shape: leave one of them out"
                )
            from elver.bodies import RigidBody

            kinds = {**kinds_of(RigidBody), "density": "kg/m^3"}
            return self.construct(kind, RigidBody.solid, arguments(RigidBody.solid), given, path, same, kinds)
        return self.construct(kind, cls, keys, given, path, same)

    def construct(
        self,
        kind: str,
        cls: Callable[..., Any],
        keys: Mapping[str, inspect.Parameter],
        given: dict[str, Any],
        path: KeyPath,
        same: str = "any",
        kinds: Mapping[str, str] | None = None,
    ) -> Any:
        """Call a constructor with what a table gives, after a look at its keys, units and types."""
        known = kinds_of(cls) if kinds is None and isinstance(cls, type) else kinds or {}
        for key in given:
            if key not in keys or not known.get(key):
                self.file.fail((*path, key), f"{kind} has no key {key!r}; {meant(key, keys)}")
        for key, parameter in keys.items():
            if parameter.default is parameter.empty and key not in given:
                self.file.fail(path, f"the key {key!r} of {kind} is missing; add {key} = {example(known.get(key, ''))}")
        values = {key: self.value(known[key], item, (*path, key), same) for key, item in given.items()}
        return self.call(kind, cls, values, path)

    def call(self, kind: str, cls: Callable[..., Any], values: dict[str, Any], path: KeyPath) -> Any:
        try:
            return cls(**values)
        except BadInput as error:
            self.file.fail(path, str(error))
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            self.file.fail(path, f"no {kind} can be built of this ({error}); check the types of its keys")

    def value(self, kind: str, item: Any, path: KeyPath, same: str = "any") -> Any:
        """What a key means, by the kind of the key."""
        words = kind.split(" @")[0] if not kind.startswith("@") else ""
        group = kind.partition("@")[2]
        if item == {"none": True} or item == "none":
            return None
        if words == "frame":
            return self.frame(item, path)
        if words == "guides":
            return tuple(self.guide(v, path) for v in item) if isinstance(item, list) else self.guide(item, path)
        if words in ("pose", "rotation"):
            return self.file.pose(item, path, words)
        if words == "chain":
            return self.chain(item, path)
        if words == "rates" and isinstance(item, dict):
            return {name: self.file.plain("1", rate, (*path, name), "1") for name, rate in item.items()}
        if words == "rates":
            return self.file.plain("text", item, path, "any")
        if group == "method":
            if isinstance(item, dict):
                return self.method(item, path)
            if not words:
                self.file.fail(path, f'{short(item)} is no time scheme; write a table such as {{ type = "Newmark" }}')
        elif group:
            unit = same if words == "same" or (group == "signal" and not words) else words
            inner = "1" if path[-1] == "ramp" else ("any" if words == "any" or not unit else unit)
            if isinstance(item, dict):
                return self.make(group, item, path, inner)
            if isinstance(item, str) and (item in self.file.where or not words):
                if words == "world" and item == "world":
                    return item
                return self.named(item, group, path, inner)
            if isinstance(item, list) and (not words or not _only_numbers(item, self.file.where)):
                return tuple(self.value(kind, v, (*path, str(k)), same) for k, v in enumerate(item))
            if not words or words == "world":
                if words == "world" and item == "world":
                    return item
                self.file.fail(path, f"{short(item)} is no {group}; give a name in quotes, or a table with its keys")
        return self.file.plain(words, item, path, same)

    # Places

    def frame(self, item: Any, path: KeyPath) -> Any:
        if item == "world":
            return item
        if isinstance(item, str):
            if self.file.where.get(item) == "frames":
                return self.named(item, "frame", path, "any")
            return self.named(item, "part", path, "any")
        if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str):
            part = item[0] if item[0] == "world" else self.named(item[0], "part", (*path, "0"), "any")
            place = item[1]
            if isinstance(place, (list, dict)):
                return part, self.file.pose(place, (*path, "1"), "pose")
            return part, self.file.plain("m text", place, (*path, "1"), "m")
        if not isinstance(item, dict):
            self.file.fail(
                path, f'{short(item)} is no frame; write "world", "plate", ["arm", "tip"] or ["arm", "0.1 m"]'
            )
        return self.make("frame", item, path)

    def guide(self, item: Any, path: KeyPath) -> Any:
        """A rod that a tendon runs along, or a frame that it passes."""
        if isinstance(item, str) and self.file.where.get(item) != "frames":
            return self.named(item, "rod", path, "any")
        frame = self.frame(item, path)
        if isinstance(frame, tuple):
            part, where = frame
            at = {"at": where} if type(part).__name__ == "Rod" else {"pose": where}
            return self.call("Frame", self.types["Frame"], {"part": part, **at}, path)
        return frame

    def chain(self, item: Any, path: KeyPath) -> Any:
        if not isinstance(item, list):
            self.file.fail(path, f"{short(item)} is no list of joints; write their names from head to tail")
        joints = []
        for k, entry in enumerate(item):
            name = entry[0] if isinstance(entry, list) and len(entry) == 2 else entry
            if not isinstance(name, str):
                self.file.fail((*path, str(k)), f"{short(entry)} is no joint; give its name in quotes")
            joint = self.named(name, "joint", (*path, str(k)), "any")
            joints.append((joint, entry[1]) if isinstance(entry, list) else joint)
        return joints

    # The whole

    def model(self) -> Model:
        """System, inputs and study."""
        for section, entries in self.file.tables.items():
            if section in SECTIONS and section != "signals":
                for name in entries:
                    self.named(name, SECTIONS[section], (section, name), "any")
        actuators = [self.built[name] for name in self.file.tables.get("actuators", {})]
        loads = [self.built[name] for name in self.file.tables.get("loads", {})]
        inputs: dict[Any, Any] = {}
        for name, raw in self.file.tables.get("gaits", {}).items():
            drives, signals = self.gait(name, raw)
            actuators += drives
            inputs |= signals
        mechanism = self.mechanism()
        title = self.file.tables.get("title", "")
        if not isinstance(title, str):
            self.file.fail(("title",), f"{short(title)} is no text; write it in quotes")
        values = {"mechanism": mechanism, "actuators": tuple(actuators), "loads": tuple(loads), "title": title}
        system = self.call("System", self.types_system(), values, ())
        keyed = {system.label(part): signal for part, signal in inputs.items()}
        for name, raw in self.file.tables.get("inputs", {}).items():
            path = ("inputs", name)
            if name not in system.channel_names:
                known = system.channel_names
                self.file.fail(path, f"no actuator and no load is called {name!r}; {meant(name, known, 'an input')}")
            keyed[name] = self.value("same @signal", raw, path, self.unit(system, name))
            self.probe(system, name, keyed[name], path)
        study = self.study(system) if "study" in self.file.tables else None
        return Model(system, keyed, study, title)

    def types_system(self) -> type:
        from elver.system import System

        return System

    def unit(self, system: Any, name: str) -> str:
        unit = str(system.channels[system.channel_names.index(name)].unit)
        try:
            quantity("1 " + unit, "any")
        except BadInput:
            return "any"
        return unit

    def probe(self, system: Any, name: str, signal: Any, path: KeyPath) -> None:
        """Look at an input at the first instant: a slack tendon that should push is told here, not in the run."""
        try:
            system.input_vector(system.signals({name: signal}), 0.0)
        except BadInput as error:
            self.file.fail(path, str(error))
        except (ArithmeticError, TypeError, ValueError) as error:
            self.file.fail(path, f"the signal has no value at 0 s ({error}); check its numbers")

    def gait(self, name: str, raw: Any) -> tuple[list[Any], dict[Any, Any]]:
        from elver.actuation import joint_gait, muscle_gait, rod_gait

        path = ("gaits", name)
        if not isinstance(raw, dict):
            self.file.fail(path, f"{short(raw)} is no table; write [gaits.{name}] above its keys")
        kind = raw.get("type")
        gaits: dict[Any, Callable[..., Any]] = {g.__name__: g for g in (joint_gait, rod_gait, muscle_gait)}
        if not isinstance(kind, str) or kind not in gaits:
            self.file.fail((*path, "type"), f"type = {short(kind)} is no gait; write type = {any_of(gaits)}")
        function = gaits[kind]
        given = {key: value for key, value in raw.items() if key != "type"}
        drives, inputs = self.construct(kind, function, arguments(function), given, path, kinds=GAITS[kind])
        return list(drives), dict(inputs)

    def mechanism(self) -> Any:
        from elver.mechanism import Mechanism

        raw, path = dict(self.file.tables.get("mechanism", {})), ("mechanism",)
        holds = tuple(self.built[name] for name in self.file.tables.get("holds", {}))
        for way in ("clamped", "free"):
            if way in raw:
                for key in raw:
                    if key not in (way, "pose"):
                        self.file.fail((*path, key), f"{key!r} does not go with {way!r}; use joints and base instead")
                if self.file.tables.get("joints"):
                    self.file.fail((*path, way), f"{way} = {raw[way]!r} and [joints]: choose one of the two")
                part = self.value("@part", raw[way], (*path, way))
                pose = self.value("pose", raw["pose"], (*path, "pose")) if "pose" in raw else None
                build = getattr(Mechanism, way)
                return self.call("Mechanism", build, {"rod": part, "pose": pose, "holds": holds}, path)
        joints = tuple(self.built[name] for name in self.file.tables.get("joints", {}))
        if not joints:
            parts = [name for name, section in self.file.where.items() if section in ("rods", "bodies")]
            first = parts[0] if parts else "arm"
            self.file.fail(
                path, f'no part is held: add [mechanism] with clamped = "{first}", or [joints.NAME] tables'
            )
        raw.setdefault("joints", list(self.file.tables.get("joints", {})))
        raw.setdefault("holds", list(self.file.tables.get("holds", {})))
        return self.construct("Mechanism", Mechanism, arguments(Mechanism), raw, path)

    def study(self, system: Any) -> Study:
        raw, path = dict(self.file.tables["study"]), ("study",)
        kind = raw.pop("kind", None)
        if not isinstance(kind, str) or kind not in STUDIES:
            self.file.fail((*path, "kind"), f"kind = {short(kind)} is no study; write kind = {any_of(STUDIES)}")
        cls, kinds, same = STUDIES[kind], STUDY_FIELDS[kind], "any"
        if kind == "continuation" and raw.get("over") is not None:
            moved = list(raw["over"]) if isinstance(raw["over"], dict) else [raw["over"]]
            if not moved:
                self.file.fail(
                    (*path, "over"), "over names no input; write such as over = { left = 1.0, right = -1.0 }"
                )
            for name in moved:
                self.known(system, name, (*path, "over"), f"over = {short(name)}")
            same = self.unit(system, moved[0])
        begun = raw.get("state") if kind == "simulation" else None
        held = isinstance(begun, dict) and "equilibrium" in begun
        if held:
            del raw["state"]
        study: Study = self.construct(kind, cls, arguments(cls), raw, path, same, kinds)
        if held and isinstance(study, SimulationStudy):
            study = replace(study, state=self.held(system, begun, (*path, "state")))
        for key, item in raw.items():
            value = getattr(study, key)
            if kinds[key] in ("text", "rates", "text @state", "@method"):
                continue
            if value is None or isinstance(value, tuple):
                self.file.fail((*path, key), f"{short(item)} is no number; write such as {key} = {example(kinds[key])}")
        for key in ("duration", "step", "tolerance"):
            value = getattr(study, key, 1.0)
            if isinstance(value, float) and not (math.isfinite(value) and value > 0.0):
                self.file.fail((*path, key), f"{key} = {value:g}: must be greater than zero, and finite")
        for key in ("every", "max_iterations"):
            if getattr(study, key, 1) < 1:
                self.file.fail((*path, key), f"{key} = {getattr(study, key)}: must be at least 1")
        if isinstance(study, SimulationStudy):
            if isinstance(study.step, float) and study.step > study.duration:
                self.file.fail(
                    (*path, "step"), f"step = {study.step:g} s is longer than the duration {study.duration:g} s"
                )
            if isinstance(study.state, str) and study.state not in ("rest", "equilibrium"):
                self.file.fail(
                    (*path, "state"), f'state = {study.state!r}: write "rest", "equilibrium" or a table with q'
                )
            if not isinstance(study.state, (str, dict)):
                self.call("State", lambda state: system.check_state(state), {"state": study.state}, (*path, "state"))
            if study.start not in ("consistent", "given"):
                self.file.fail((*path, "start"), f'start = {study.start!r}: write "consistent" or "given"')
        return study

    def known(self, system: Any, name: Any, path: KeyPath, said: str) -> None:
        """Fail unless ``name`` is an input of the system."""
        if name not in system.channel_names:
            close = meant(str(name), system.channel_names, "an input")
            self.file.fail(path, f"{said} is no input of this system; {close}")

    def held(self, system: Any, raw: Any, path: KeyPath) -> dict[str, Any]:
        """Inputs that hold a system before its run begins, by their names."""
        given = raw["equilibrium"]
        if len(raw) > 1 or not isinstance(given, dict):
            self.file.fail(path, f'{short(raw)} is no state; write such as {{ equilibrium = {{ tendon = "5 N" }} }}')
        inputs = {}
        for name, item in given.items():
            where = (*path, "equilibrium", name)
            self.known(system, name, where, repr(name))
            inputs[name] = self.value("same @signal", item, where, self.unit(system, name))
            self.probe(system, name, inputs[name], where)
        return inputs

    def method(self, raw: dict[str, Any], path: KeyPath) -> Any:
        raw = self.file.expanded(raw, path)
        kind = raw.get("type")
        allowed = ("Adaptive",) if path[-1] == "step" else tuple(name for name in METHODS if name != "Adaptive")
        if kind not in allowed:
            self.file.fail((*path, "type"), f"type = {short(kind)} is no time scheme; {meant(str(kind), allowed)}")
        cls = method_types()[kind]
        given, kinds = {key: value for key, value in raw.items() if key != "type"}, kinds_of(cls)
        for key in given:
            if key not in kinds:
                self.file.fail((*path, key), f"{kind} has no key {key!r}; {meant(key, kinds)}")
        values = {key: self.value(kinds[key], item, (*path, key)) for key, item in given.items()}
        return self.call(kind, cls, values, path)


def _only_numbers(item: Any, names: Mapping[str, Any]) -> bool:
    """True for nested lists of quantities, without tables and names."""
    if isinstance(item, list):
        return all(_only_numbers(v, names) for v in item)
    return not isinstance(item, dict) and not (isinstance(item, str) and item in names)
