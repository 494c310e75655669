"""Recursions over the tree of a robot: arrays, residual, tangent, elimination, articulated bodies, observation."""
