"""What every test shares: drawing without a display, one thread each, hypothesis in a calm, repeatable setting."""

import gc
import os
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

# Two processes with two threads each on two cores: the threads of a small matrix wait for each other by turning round,
# and an eigenvalue problem of 141 unknowns takes 120 ms of processor instead of 3. The processes of ``-n`` inherit it.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Deadlines measure the machine, not the code; a fixed seed makes a failure on one machine one on all.
hypothesis.settings.register_profile("elver", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("elver")

# Files with tests of many seconds: they begin first, so that two processes end together.
LONG = (
    "viz/test_browser_page.py", "gallery/test_pages.py", "test_docs.py", "no_wrong_answer/test_statics_branches.py",
    "viz/test_report.py", "cli/test_model_commands.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the others as they are."""
    root = Path(__file__).parent
    place = {root / name: k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_collection_finish() -> None:
    """What is there now stays: looking through it for garbage again and again takes a twentieth of all time."""
    gc.freeze()
    gc.set_threshold(50_000)
