"""Environment: gravity, water, given wrenches, springs and the like on joints, sliding friction, feedback."""

from elver.environment.feedback import Feedback, JointFeedback
from elver.environment.fluids import Buoyancy, Lighthill, Morison, Outline
from elver.environment.frame_load import FrameLoad
from elver.environment.gravity import Gravity
from elver.environment.joint_loads import JointFriction, JointLoad, JointSpring, JointStop, RotorInertia
from elver.environment.sliding import SlidingFriction
from elver.environment.wrench import DistributedWrench, PointWrench

__all__ = [
    "Buoyancy",
    "DistributedWrench",
    "Feedback",
    "FrameLoad",
    "Gravity",
    "JointFeedback",
    "JointFriction",
    "JointLoad",
    "JointSpring",
    "JointStop",
    "Lighthill",
    "Morison",
    "Outline",
    "PointWrench",
    "RotorInertia",
    "SlidingFriction",
]
