"""Rigid bodies: mass, mass centre and inertia, and the shape they are drawn with."""

from elver.bodies.rigid_body import RigidBody
from elver.bodies.shapes import Box, Cylinder, EllipticCylinder, Shape, Sphere

__all__ = ["Box", "Cylinder", "EllipticCylinder", "RigidBody", "Shape", "Sphere"]
