"""A system as the document of a model file: every part that others refer to gets a section and a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from elver.errors import BadInput
from elver.io.model import Encoder
from elver.io.model_fields import GROUPS, METHODS, SECTIONS, kinds_of
from elver.io.toml_values import (
    FORMAT,
    ContinuationStudy,
    SimulationStudy,
    Study,
    arguments,
    file_types,
)

__all__ = ["ModelWriter"]


class ModelWriter(Encoder):
    """A walk over a model that gives a name to every part that others refer to."""

    def __init__(self, system: Any, sample: bool, duration: float) -> None:
        super().__init__(duration=duration, samples=101)
        self.system, self.sample = system, sample
        self.sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        self.names: dict[int, str] = {}
        self.keep: list[Any] = []  # values whose identity is used must not be collected meanwhile
        self.types = file_types()

    def document(self, system: Any, inputs: Mapping[Any, Any], study: Study | None, title: str) -> dict[str, Any]:
        mechanism = system.mechanism
        self.count(system)
        head: dict[str, Any] = {"elver": FORMAT}
        if title:
            head["title"] = title
        table: dict[str, Any] = {
            "joints": [self.reference(joint, "joints") for joint in mechanism.joints],
            "base": self.inline(mechanism.base, "mechanism.base", (mechanism,)),
        }
        if mechanism.holds:
            table["holds"] = [self.reference(hold, "holds") for hold in mechanism.holds]
        if mechanism.root is not None:
            table["root"] = self.place(mechanism.root, "mechanism.root")
        for section in ("actuators", "loads"):
            for part in getattr(system, section):
                self.reference(part, section)
        values: dict[str, Any] = {}
        channels = dict(zip(system.channel_names, system.channels, strict=True))
        for key, signal in inputs.items():
            name = system.channel_names[system.input_index(key)]
            values[name] = self.encode(signal, f"inputs[{name!r}]", (channels[name],))
        result = {**head, **self.sections, "mechanism": table, "inputs": values}
        if study is not None:
            if isinstance(study, ContinuationStudy):
                study = dataclasses.replace(study, over=self.moved(study.over))
            if isinstance(study, SimulationStudy) and isinstance(study.state, Mapping):
                held = {system.channel_names[system.input_index(part)]: value for part, value in study.state.items()}
                study = dataclasses.replace(study, state={"equilibrium": held})
            result["study"] = {"kind": study.kind} | self.fields(study, type(study), "study", ())
        return result

    def moved(self, over: Any) -> str | dict[str, float]:
        """Inputs of a continuation by their names."""
        names = self.system.channel_names
        if isinstance(over, Mapping):
            return {names[self.system.input_index(part)]: float(rate) for part, rate in over.items()}
        return str(names[self.system.input_index(over)])

    def reference(self, value: Any, section: str) -> str:
        """Name of a value that stands in a section of its own."""
        if section == "joints" and not any(value is joint for joint in self.system.mechanism.joints):
            value = self.system.mechanism.joint(value)
        if id(value) in self.names:
            return self.names[id(value)]
        wanted = getattr(value, "name", None) or type(value).__name__.lower()
        taken = {name for entries in self.sections.values() for name in entries}
        name, number = wanted, 1
        while name in taken or name in ("world", "none", "free", "rest", "equilibrium"):
            number += 1
            name = f"{wanted}-{number}"
        self.names[id(value)] = name
        self.keep.append(value)
        entry: dict[str, Any] = {}
        # what it refers to comes first in the file, so its own place is taken only now
        self.sections[section][name] = entry
        content = self.inline(value, f"{section}.{name}", (), named=name)
        entry.update(content)
        return name

    def inline(self, value: Any, path: str, owners: tuple[Any, ...], named: str | None = None) -> dict[str, Any]:
        kind = type(value).__name__
        if kind not in self.types:
            raise BadInput(
                f"{path}: a {kind} cannot be written to a model file, which holds no code; build this system in Python"
            )
        content = self.fields(value, self.types[kind], path, owners)
        if named is not None and hasattr(value, "name"):
            if value.name == named:
                content.pop("name", None)
            else:
                content["name"] = {"none": True} if value.name is None else value.name
        return {"type": kind, **content}

    def fields(self, value: Any, cls: type, path: str, owners: tuple[Any, ...]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        kinds = kinds_of(cls)
        for key, parameter in arguments(cls).items():
            item = getattr(value, key)
            default = parameter.default
            if item is None and default is None:
                continue
            if default is not parameter.empty and type(item) is type(default) and _same(item, default):
                continue
            kind = kinds.get(key)
            if kind in ("frame", "guides"):
                content[key] = self.places(item, f"{path}.{key}")
            else:
                content[key] = self.encode(item, f"{path}.{key}", (*owners, value))
        return content

    def places(self, item: Any, path: str) -> Any:
        if isinstance(item, (tuple, list)) and not (len(item) == 2 and isinstance(item[1], (str, float))):
            return [self.places(v, path) for v in item]
        return self.place(item, path)

    def place(self, item: Any, path: str) -> Any:
        """A frame in its shortest form."""
        if type(item).__name__ != "Frame":
            return self.encode(item, path, ())
        part = item.part if isinstance(item.part, str) else self.encode(item.part, path, ())
        if not item.shifted:
            return part if item.at is None else [part, item.at]
        return {"part": part, **({} if item.at is None else {"at": item.at}), "pose": self.encode(item.pose, path, ())}

    def encode(self, value: Any, path: str, owners: tuple[Any, ...]) -> Any:
        if value is None:
            return "none" if path.endswith("]") else {"none": True}
        if isinstance(value, (float, np.floating)):
            return float(value)
        if isinstance(value, Mapping):
            return {str(key): self.encode(item, f"{path}.{key}", owners) for key, item in value.items()}
        return super().encode(value, path, owners)

    def _array(self, value: np.ndarray, path: str) -> Any:
        if value.dtype.kind not in "biuf":
            raise BadInput(f"{path}: an array of {value.dtype} cannot be written to a file; use numbers")
        return value.tolist()

    def _dataclass(self, value: Any, path: str, owners: tuple[Any, ...]) -> Any:
        kind = type(value).__name__
        own = ("materials", "rods", "bodies", "joints")
        for section, group in SECTIONS.items():
            if kind in GROUPS[group] and (section in own or (self.seen[id(value)] > 1 and section != "frames")):
                return self.reference(value, section)
        if kind == "Frame":
            return self.place(value, path)
        if kind in METHODS:
            return {"type": kind} | self.fields(value, type(value), path, ())
        return self.inline(value, path, owners)

    def _function(self, function: Callable[..., Any], path: str, owners: tuple[Any, ...]) -> Any:
        name = getattr(function, "__qualname__", type(function).__name__)
        if not self.sample:
            raise BadInput(
                f"{path}: the Python function {name} cannot be written to a model file; use a signal, field or path of "
                "elver, or accept samples of it with sample=True"
            )
        return super()._function(function, path, owners)


def _same(item: Any, default: Any) -> bool:
    try:
        return bool(item == default)
    except ValueError:
        return False
