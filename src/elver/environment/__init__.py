"""Environment: gravity, given wrenches, springs, friction and stops of joints, sliding friction, feedback."""

from elver.environment.feedback import Feedback, JointFeedback
from elver.environment.gravity import Gravity
from elver.environment.joint_loads import JointFriction, JointSpring, JointStop
from elver.environment.sliding import SlidingFriction
from elver.environment.wrench import DistributedWrench, PointWrench

__all__ = [
    "DistributedWrench",
    "Feedback",
    "Gravity",
    "JointFeedback",
    "JointFriction",
    "JointSpring",
    "JointStop",
    "PointWrench",
    "SlidingFriction",
]
