"""Environment: gravity and given wrenches on a rod."""

from elver.environment.gravity import Gravity
from elver.environment.wrench import DistributedWrench, PointWrench

__all__ = ["DistributedWrench", "Gravity", "PointWrench"]
