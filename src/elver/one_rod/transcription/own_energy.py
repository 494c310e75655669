"""The energy of a section law of one's own as a function of CasADi, with the law's stress and slope as derivatives.

    E(ε, s, w) = Σ w_k W(ε_k, s_k) ,     ∂E/∂ε_k = w_k Λ(ε_k, s_k) ,     ∂²E/∂ε_k² = w_k ∂Λ/∂ε(ε_k, s_k)

for all points at once: ε (6, m) [1/m, 1], s (1, m) [m], weights w (1, m).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from elver.errors import BadInput
from elver.one_rod.transcription.maps import casadi
from elver.rods import Law

__all__ = ["OwnEnergy"]

Array = NDArray[np.float64]


class OwnEnergy:
    """E at ``count`` points, as :attr:`function`; both must live as long as what is made of them."""

    def __init__(self, law: Law, count: int) -> None:
        self.law, self.count = law, count
        self.raised: Exception | None = None
        """What the law raised, which CasADi does not hand on; from then on it has no number."""
        self._last: tuple[bytes, tuple[Array, Array, Array]] | None = None
        ca = casadi()
        self.kept: list[Any] = []
        places = ca.Sparsity.dense(6, count), ca.Sparsity.dense(1, count), ca.Sparsity.dense(1, count)
        blocks = ca.diagcat(*[ca.DM.ones(6, 6)] * count).sparsity()

        def energy(weight: Array, found: tuple[Array, Array, Array]) -> Any:
            return weight @ found[2]

        def stress(weight: Array, found: tuple[Array, Array, Array]) -> Any:
            return ca.DM((found[0] * weight[:, None]).reshape(1, -1))

        def slope(weight: Array, found: tuple[Array, Array, Array]) -> Any:
            return ca.DM(blocks, (found[1] * weight[:, None, None]).ravel())  # symmetric: by columns as by rows

        second = self._made("slope", places, blocks, slope)
        first = self._made("stress", places, ca.Sparsity.dense(1, 6 * count), stress, second)
        self.function = self._made("energy", places, ca.Sparsity.dense(1, 1), energy, first)

    def at(self, strain: Array, s: Array) -> tuple[Array, Array, Array]:
        """Stress, slope and energy at the points; no number where the law has none: a solver takes a shorter step."""
        key = strain.tobytes() + s.tobytes()
        if self._last is None or self._last[0] != key:
            n = s.size
            found = np.full((n, 6), np.nan), np.full((n, 6, 6), np.nan), np.full(n, np.nan)
            if self.raised is None:
                try:
                    found = self.law.elasticity(s, strain)
                except BadInput:
                    pass
                except Exception as error:
                    self.raised = error
            self._last = key, found
        return self._last[1]

    def _made(self, name: str, takes: tuple[Any, ...], gives: Any, value: Any, derivative: Any = None) -> Any:
        """A function of CasADi; ``derivative`` is that with ε, and those with s and the weights are not asked for."""
        ca, own = casadi(), self

        class Made(ca.Callback):  # type: ignore[name-defined]
            def __init__(self) -> None:
                ca.Callback.__init__(self)
                self.construct(name, {})

            def get_n_in(self) -> int:
                return len(takes)

            def get_n_out(self) -> int:
                return 1

            def get_sparsity_in(self, k: int) -> Any:
                return takes[k]

            def get_sparsity_out(self, _: int) -> Any:
                return gives

            def eval(self, given: list[Any]) -> list[Any]:
                strain, s, weight = (np.array(one) for one in given)
                return [value(weight.ravel(), own.at(np.ascontiguousarray(strain.T), s.ravel()))]

            def has_jacobian(self) -> bool:
                return derivative is not None

            def has_jac_sparsity(self, _: int, __: int) -> bool:
                return derivative is not None

            def get_jac_sparsity(self, _: int, k: int, __: bool) -> Any:  # without it, CasADi takes it to be full
                return ca.Sparsity(gives.numel(), takes[k].numel()) if k else derivative.sparsity_out(0)

            def get_jacobian(self, jacobian: str, inputs: list[str], outputs: list[str], options: Any) -> Any:
                shapes = (*takes, gives)
                given = [ca.MX.sym(one, shape) for one, shape in zip(inputs, shapes, strict=True)]
                others = [ca.MX(gives.numel(), shape.numel()) for shape in takes[1:]]
                return ca.Function(jacobian, given, [derivative(*given[:-1]), *others], inputs, outputs)

        made = Made()
        self.kept.append(made)
        return made
