"""The house rules on imports: the layers are kept, and looking at help needs no numerics."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_import_contract_is_kept():
    tool = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if tool is None:
        pytest.fail("import-linter is not installed: run 'make setup'")
    result = subprocess.run([tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_command_line_imports_no_numerics_until_needed():
    code = "import sys, elver.cli; print([m for m in ('numpy', 'numba', 'scipy', 'xarray') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_looking_at_a_model_file_imports_no_compiler(tmp_path):
    model = tmp_path / "arm.toml"
    commands = [
        ["--help"],
        ["new", "tendon-arm", str(model)],
        ["check", str(model)],
        ["schema"],
        ["equilibrium", str(model)],
    ]
    for command in commands:
        code = (
            f"import sys; from elver.cli import app; app({command!r}, standalone_mode=False);"
            "print('loaded:', [m for m in ('numba', 'xarray', 'matplotlib', 'scipy.linalg') if m in sys.modules])"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert result.stdout.endswith("loaded: []\n"), command


def test_an_equilibrium_imports_no_tables():
    """xarray and pandas take as long to import as all of elver."""
    code = (
        "import sys, elver as ev; steel = ev.Material(2e11, poisson=0.3, density=7800.0);"
        "rod = ev.Rod(1.0, ev.Circle(1e-3), steel, ev.Legendre.kirchhoff(3), name='rod');"
        "found = ev.equilibrium(ev.System(ev.Mechanism.clamped(rod), loads=[ev.Gravity()]));"
        "found.pose(rod); ev.energy(found);"
        "print([m for m in ('pandas', 'xarray', 'matplotlib', 'scipy.optimize', 'scipy.linalg') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
