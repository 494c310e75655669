"""Model files: a robot, its actuation, surroundings and a study in one TOML file, there and back.

The sections of a file hold named values; a key is the name of a constructor's argument, and its unit stands at the
field (:func:`elver.values.of_kind`). So a class of the library needs no code here to be read or written, but its name
in a group of model_fields.

    [materials.silicone]            a Material called silicone
    [rods.arm]                      material = "silicone" refers to it; like = "limb" begins from another entry
    [joints], [holds], [mechanism]  how the parts are connected
    [actuators], [loads]            in the order of the file
    [inputs]                        numbers, quantities and signals by the name of an actuator or load
    [study]                         kind = "equilibrium", "continuation" or "simulation"

A model file holds no code, and names no file outside its own folder unless that is allowed by a flag.

Rooms: toml_values what a file holds, toml_document its tables, toml_reader and toml_writer the two ways, toml_text the
text itself, model_fields groups of types and sections, units the units.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elver.errors import BadInput
from elver.guards import check_system
from elver.io.toml_reader import ModelReader
from elver.io.toml_text import LARGEST_FILE, write_document
from elver.io.toml_values import ContinuationStudy, EquilibriumStudy, Model, SimulationStudy, Study
from elver.io.toml_writer import ModelWriter

__all__ = [
    "ContinuationStudy", "EquilibriumStudy", "Model", "SimulationStudy", "Study", "load_model",
    "save_model",
]  # fmt: skip


def load_model(
    path: str | os.PathLike[str],
    *,
    changes: Mapping[str, Any] | None = None,
    outside: bool = False,
) -> Model:
    """The model in a TOML file.

    ``changes`` replaces values: ``{"rods.arm.length": "0.5 m", "inputs.tendon": 5.0}``. ``outside`` allows tables
    (CSV) outside the folder of the file. :class:`BadInput` names the file, the line, the key, the value and a remedy.

    >>> model = load_model("arm.toml")
    >>> run = simulate(model.system, duration=2.0, inputs=model.inputs)
    """
    return ModelReader(Path(path), changes or {}, outside).model()


def save_model(
    path: str | os.PathLike[str],
    system: Any,
    inputs: Mapping[Any, Any] | None = None,
    study: Study | None = None,
    *,
    title: str = "",
    sample: bool = False,
) -> Path:
    """Write a system, its inputs and a study to a TOML file; :func:`load_model` gives the same motion to the last bit.

    Functions written in Python cannot be stored: they are refused, or with ``sample=True`` replaced by samples (over
    the duration of the study, or along the rod), which give nearly the same motion. Feedback laws cannot be stored.
    ``title`` is that of the system if not given.
    """
    from elver.io.safe_writing import checked_target, replacing

    check_system("save_model", system)
    target = checked_target(path)
    duration = getattr(study, "duration", None)
    writer = ModelWriter(system, sample, 1.0 if duration is None else float(duration))
    document = writer.document(system, inputs or {}, study, title or system.title)
    text = write_document(document, "Model file of elver. Numbers are in SI units and radians.")
    data = text.encode("utf-8")
    if len(data) > LARGEST_FILE:
        raise BadInput(
            f"{target}: the model takes {len(data) / 1e6:.1f} MB, more than a model file may have "
            f"({LARGEST_FILE / 1e6:.0f} MB); put long tables into CSV files beside it"
        )
    with replacing(target) as temporary:
        temporary.write_bytes(data)
    return target
