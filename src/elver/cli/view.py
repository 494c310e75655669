"""``elver view FILE``: a model live in the browser, or runs as a playback."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["command"]


def command(
    files: Annotated[
        list[Path], typer.Argument(help="A model (.toml) to play with, a run (.nc) to watch, or two runs.")
    ],
    port: Annotated[int, typer.Option(help="Port of the page; the next free one if it is taken.")] = 8080,
    statics: Annotated[bool, typer.Option("--statics", help="Begin in statics instead of dynamics.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Replace a value of the model: tendon=5N.", show_default=False),
    ] = None,
    outside: Annotated[
        bool, typer.Option("--outside", help="Allow tables outside the folder of the model file.")
    ] = False,
) -> None:
    """Show a robot in the browser, on this machine only: sliders, pause, pull, plots. Ctrl-C ends it.

    Example:  elver view arm.toml
    """
    from rich.console import Console

    from elver.errors import BadInput
    from elver.viz.browser import view

    models = [file for file in files if file.suffix.lower() == ".toml"]
    if models and len(files) > 1:
        raise BadInput(f"view: {models[0]} is a model; show it alone, or give two runs (.nc) to see them side by side")
    if models:
        from elver.cli.check import changes_of
        from elver.io import load_model

        model = load_model(models[0], changes=changes_of(set_ or []), outside=outside)
        mode = "statics" if statics else "dynamics"
        title = model.title or models[0].stem
        shown = view(model.system, model.inputs, mode=mode, title=title, port=port, wait=False)  # type: ignore[arg-type]
    else:
        shown = view(list(files), port=port, wait=False)
    Console(highlight=False).print(f"open [bold]{shown.url}[/bold] in a browser; Ctrl-C ends it")
    shown.wait()
