"""Conditions of optimality by multiple shooting: equilibria, conjugate points, motion."""
