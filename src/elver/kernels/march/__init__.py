"""Solvers: equilibria, and steps in time, with what they remember."""
