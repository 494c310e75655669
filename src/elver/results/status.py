"""How a run ended and how its energy balanced, in words; for what prints and draws (no kernels are imported)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import xarray as xr  # half a second to import: only where a dataset is made

__all__ = ["energy_line", "is_complete", "is_run", "percent"]

_WORTH_A_WORD = 1e-4  # part of the energy in play from which a person is told why it was gained or lost


def is_run(value: Any) -> TypeGuard[xr.Dataset]:
    """True for a dataset; where xarray was not imported, nothing is one."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.Dataset)


def is_complete(status: str) -> bool:
    """Whether a run with this ``status`` came to its end, with or without remarks behind."""
    return status == "complete" or status.startswith("complete,")


def energy_line(run: xr.Dataset) -> str:
    """The balance of a run in one line; empty where it holds none."""
    if "energy/numerical" not in run or run.sizes.get("time", 0) < 2 or "energy_in_play" not in run.attrs:
        return ""
    error = float(run.attrs["energy_error"])
    text = f"energy: {float(run.attrs['energy_in_play']):.3g} J in play"
    for name, label in (("work", "work"), ("dissipated", "dissipated")):
        amount = float(run[f"energy/{name}"][-1])
        text += f", {label} {amount:.3g} J" if amount else ""
    text += f", {'gained' if error > 0.0 else 'lost'} by the method at most {percent(error)}"
    cause = run.attrs.get("energy_error_cause", "")
    return f"{text} ({cause})" if cause and abs(error) >= _WORTH_A_WORD else text


def percent(part: float) -> str:
    """A part of one in words."""
    value = 100.0 * abs(part)
    return f"{value:.2g} %" if value < 9.95 else f"{value:.0f} %" if value < 1e4 else f"{value:.1e} %"
