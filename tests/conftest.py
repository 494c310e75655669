"""What every test shares: drawing without a display, and hypothesis in a calm, repeatable setting."""

import os

import hypothesis

os.environ.setdefault("MPLBACKEND", "Agg")

# Deadlines measure the machine, not the code; a fixed seed makes a failure on one machine one on all.
hypothesis.settings.register_profile("elver", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("elver")
