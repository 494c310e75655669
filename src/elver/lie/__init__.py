"""The groups SO(3) and SE(3), and the integration of g′ = g ξ̂ along a rod.

``so3`` rotations and quaternions, ``se3`` poses, ``integration`` poses along a strain field. Six-vectors are
angular first and in the body frame; tangents of exp are left-trivialised.
"""

from elver.lie import integration, se3, so3

__all__ = ["integration", "se3", "so3"]
