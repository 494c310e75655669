"""JSON schema of model files, from the same table that reads them: editors complete keys and show units with it."""

from __future__ import annotations

import inspect
from typing import Any

from elver.io.model_fields import GROUPS, METHODS, SECTIONS, STUDY_FIELDS, kinds_of
from elver.io.toml_values import FORMAT, arguments, file_types, method_types

__all__ = ["model_schema"]


def model_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a model file."""
    from elver.mechanism import Mechanism

    types = file_types()
    definitions: dict[str, Any] = {name: _table(name, cls) for name, cls in types.items()}
    for group, names in GROUPS.items():
        if group != "study":
            definitions[f"group-{group}"] = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
    for name, cls in method_types().items():
        definitions[name] = _object(name, {key: _value(kind) for key, kind in kinds_of(cls).items()}, ["type"])
    schemes = [{"$ref": f"#/$defs/{name}"} for name in METHODS if name != "Adaptive"]
    definitions["group-method"] = {"anyOf": schemes}
    properties: dict[str, Any] = {
        "elver": {"const": FORMAT, "description": "Format of the file."},
        "title": {"type": "string"},
        "note": {"type": "string"},
    }
    for section, group in SECTIONS.items():
        one = {"anyOf": [{"$ref": f"#/$defs/group-{group}"}, _like()]}
        properties[section] = {"type": "object", "additionalProperties": one}
    properties["gaits"] = {"type": "object", "additionalProperties": {"type": "object", "required": ["type"]}}
    properties["mechanism"] = {
        "type": "object",
        "properties": {
            **{key: _value(kinds_of(Mechanism)[key]) for key in ("joints", "base", "holds", "root")},
            "clamped": _value("@part"),
            "free": _value("@part"),
            "pose": _value("pose"),
        },
        "additionalProperties": False,
    }
    properties["inputs"] = {"type": "object", "additionalProperties": _value("same @signal")}
    studies = []
    for kind, fields in STUDY_FIELDS.items():
        keys = {"kind": {"const": kind}, **{key: _value(words) for key, words in fields.items()}}
        if "state" in keys:
            held = {"type": "object", "properties": {"equilibrium": {"type": "object"}}, "required": ["equilibrium"]}
            keys["state"]["anyOf"].append({**held, "additionalProperties": False})
        studies.append({"type": "object", "properties": keys, "required": ["kind"], "additionalProperties": False})
    properties["study"] = {"anyOf": studies}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Model file of elver",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": definitions,
    }


def _like() -> dict[str, Any]:
    return {"type": "object", "properties": {"like": {"type": "string"}}, "required": ["like"]}


def _table(name: str, cls: type) -> dict[str, Any]:
    kinds = kinds_of(cls)
    keys = {key: _value(kinds[key]) for key in arguments(cls)}
    required = [key for key, p in arguments(cls).items() if p.default is p.empty and key != "name"]
    alone = [group for group, names in GROUPS.items() if names == (name,)]
    schema = _object(name, keys, [*([] if alone else ["type"]), *required])
    if name == "SampledSignal":
        schema["properties"] |= {"file": {"type": "string"}, "column": {"type": ["string", "integer"]}}
        schema["required"] = ["type"]
    if name == "RigidBody":
        schema["properties"]["density"] = _value("kg/m^3")
        schema["required"].remove("mass")
    schema["description"] = (inspect.getdoc(cls) or name).partition("\n")[0]
    return schema


def _object(name: str, keys: dict[str, Any], required: list[str]) -> dict[str, Any]:
    keys = {"type": {"const": name}, "like": {"type": "string"}, **keys}
    return {"type": "object", "properties": keys, "required": required, "additionalProperties": False}


def _value(kind: str) -> dict[str, Any]:
    """Schema of a key of this kind."""
    words = "" if kind.startswith("@") else kind.split(" @")[0]
    group = kind.partition("@")[2]
    if words in ("int", "bool", "text"):
        simple: dict[str, Any] = {"type": {"int": "integer", "bool": "boolean", "text": ["string", "array"]}[words]}
    elif words in ("frame", "guides", "pose", "rotation", "chain", "world"):
        simple = {"type": ["string", "array", "object"], "description": words}
    elif words == "rates":
        simple = {"type": ["string", "object"], "description": "an input, or inputs with their rates"}
    elif words:
        unit = {"same": "unit of the input", "any": "SI units"}.get(words, words.replace("|", " or "))
        simple = {"type": ["number", "string", "array"], "description": f"[{unit}]"}
    else:
        simple = {"type": ["string", "array"], "description": f"name of a {group}"}
    none = {"type": "object", "properties": {"none": {"const": True}}, "required": ["none"]}
    if not group:
        return {"anyOf": [simple, none]}
    return {"anyOf": [simple, {"$ref": f"#/$defs/group-{group}"}, none]}
