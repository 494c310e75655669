"""elver: models, simulates and designs slender elastic robots.

    import elver as ev

Names are loaded when they are first used, so that the command line starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from elver.lazy import lazy

__version__ = "0.1.0"

_HOME = {
    "actuation": (
        "ActiveStress CurvatureWave Imposed Motor Muscle Pressure SpooledTendon Tendon TravellingWave c2_ramp "
        "convergent helical joint_gait muscle_gait parallel ramp rod_gait route sampled sine smooth_step sum_of "
        "triangle within"
    ),
    "bodies": "Box Cylinder EllipticCylinder RigidBody Sphere",
    "dynamics": (
        "Structure Values bias_forces energy explain floating_inverse_dynamics forward_dynamics inverse_dynamics "
        "linearize mass_matrix modes momentum nodes poses structure_of tangent_forward_dynamics "
        "tangent_inverse_dynamics values_of"
    ),
    "environment": (
        "Buoyancy DistributedWrench Feedback FrameLoad Gravity JointFeedback JointFriction JointSpring JointStop "
        "Lighthill Morison PointWrench RotorInertia SlidingFriction"
    ),
    "errors": "BadInput CannotWrite ElverWarning Interrupted NotConverged UnitWarning",
    "functions": "compiled",
    "integrators": (
        "Adaptive Conserving GaussLegendre4 GeneralizedAlpha HHT ImplicitMidpoint Newmark RungeKutta4 SemiImplicitEuler"
    ),
    "integrators.resolution": "check_resolution",
    "integrators.runs": "save",
    "integrators.simulate": "simulate state_at still",
    "io": (
        "ContinuationStudy EquilibriumStudy Model RunFile SimulationStudy load load_model read_urdf save_csv save_model"
    ),
    "mechanism": (
        "Clamped Cylindrical Driven Fixed Floating Frame Free Hold MDHRow Mechanism Motion Planar Prismatic Revolute "
        "Spherical Universal mdh_chain"
    ),
    "one_rod": "RodProblem compare_methods direct_equilibrium rod_equilibrium shooting_dynamics solve_rod",
    "results": "reactions sample state_from",
    "rods": (
        "Chebyshev Circle Ellipse FullLaw Law Legendre Magnus Material Piecewise PiecewiseConstant PiecewiseLinear "
        "Rectangle Rod RungeKuttaMuntheKaas Sampled Section Spectral Stepped Taper Tube"
    ),
    "statics": ("assemble equilibria continuation equilibrium inverse_statics singularity stability workspace"),
    "system": "State System",
    "viz": "animate show",
    "viz.browser": "view",
    "viz.graph": "draw_graph",
    "viz.reports": "report save_plots",
    "viz.workspace": "draw_workspace",
}
__all__ = sorted([*lazy(__name__, _HOME), "__version__"])

if TYPE_CHECKING:
    from elver.actuation import (
        ActiveStress,
        CurvatureWave,
        Imposed,
        Motor,
        Muscle,
        Pressure,
        SpooledTendon,
        Tendon,
        TravellingWave,
        c2_ramp,
        convergent,
        helical,
        joint_gait,
        muscle_gait,
        parallel,
        ramp,
        rod_gait,
        route,
        sampled,
        sine,
        smooth_step,
        sum_of,
        triangle,
        within,
    )
    from elver.bodies import Box, Cylinder, EllipticCylinder, RigidBody, Sphere
    from elver.dynamics import (
        Structure,
        Values,
        bias_forces,
        energy,
        explain,
        floating_inverse_dynamics,
        forward_dynamics,
        inverse_dynamics,
        linearize,
        mass_matrix,
        modes,
        momentum,
        nodes,
        poses,
        structure_of,
        tangent_forward_dynamics,
        tangent_inverse_dynamics,
        values_of,
    )
    from elver.environment import (
        Buoyancy,
        DistributedWrench,
        Feedback,
        FrameLoad,
        Gravity,
        JointFeedback,
        JointFriction,
        JointSpring,
        JointStop,
        Lighthill,
        Morison,
        PointWrench,
        RotorInertia,
        SlidingFriction,
    )
    from elver.errors import BadInput, CannotWrite, ElverWarning, Interrupted, NotConverged, UnitWarning
    from elver.functions import compiled
    from elver.integrators import (
        HHT,
        Adaptive,
        Conserving,
        GaussLegendre4,
        GeneralizedAlpha,
        ImplicitMidpoint,
        Newmark,
        RungeKutta4,
        SemiImplicitEuler,
    )
    from elver.integrators.resolution import check_resolution
    from elver.integrators.runs import save
    from elver.integrators.simulate import simulate, state_at, still
    from elver.io import (
        ContinuationStudy,
        EquilibriumStudy,
        Model,
        RunFile,
        SimulationStudy,
        load,
        load_model,
        read_urdf,
        save_csv,
        save_model,
    )
    from elver.mechanism import (
        Clamped,
        Cylindrical,
        Driven,
        Fixed,
        Floating,
        Frame,
        Free,
        Hold,
        MDHRow,
        Mechanism,
        Motion,
        Planar,
        Prismatic,
        Revolute,
        Spherical,
        Universal,
        mdh_chain,
    )
    from elver.one_rod import (
        RodProblem,
        compare_methods,
        direct_equilibrium,
        rod_equilibrium,
        shooting_dynamics,
        solve_rod,
    )
    from elver.results import reactions, sample, state_from
    from elver.rods import (
        Chebyshev,
        Circle,
        Ellipse,
        FullLaw,
        Law,
        Legendre,
        Magnus,
        Material,
        Piecewise,
        PiecewiseConstant,
        PiecewiseLinear,
        Rectangle,
        Rod,
        RungeKuttaMuntheKaas,
        Sampled,
        Section,
        Spectral,
        Stepped,
        Taper,
        Tube,
    )
    from elver.statics import (
        assemble,
        continuation,
        equilibria,
        equilibrium,
        inverse_statics,
        singularity,
        stability,
        workspace,
    )
    from elver.system import State, System
    from elver.viz import animate, show
    from elver.viz.browser import view
    from elver.viz.graph import draw_graph
    from elver.viz.reports import report, save_plots
    from elver.viz.workspace import draw_workspace
