"""Inverse models by sweeps along the rod, and the singular linear-quadratic problem behind them."""
