"""Warnings of the library as one yellow line each; loads no NumPy, so that help appears at once."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

__all__ = ["warnings_as_notes"]


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Each warning of the library inside the block is printed once, and kept in the list."""
    heard: list[str] = []

    def note(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if category.__module__ != "elver.errors":
            before(message, category, *rest, **more)
        elif str(message) not in heard:
            from rich.console import Console

            heard.append(str(message))
            console = Console(stderr=True, highlight=False)
            console.print("[bold yellow]note[/bold yellow]: ", end="")
            console.print(str(message), style="yellow", soft_wrap=True, markup=False)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # whose kind the library's are
        before = warnings.showwarning
        warnings.showwarning = note
        yield heard
