"""Machine code of kernels: what LLVM does to a kernel and all that it calls, once, where it is stored."""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
from numba.core.codegen import AOTCodeLibrary
from numba.core.runtime.nrt import rtsys

__all__ = ["IN_VECTORS", "UNROLLED", "Library"]

UNROLLED = {
    "algebra.lu_factor", "algebra.lu_solve", "tree.elimination.home", "tree.substitution.back",
    "tree.evaluate.evaluate_residual", "tree.tangent.evaluate_matrix", "tree.articulated.accelerations",
}  # fmt: skip
"""Kernels in which solvers spend their time."""

IN_VECTORS = {"tree.articulated.accelerations"}
"""Kernels whose values are as long as vector registers."""


class Library(AOTCodeLibrary):
    """Code that is optimised and turned into machine code only where it is stored, with all that it calls.

    Until then variables leave memory and no more is done. Loops run in vector registers, several of them at once; most
    are not unrolled beyond that: it doubles the code, and the time to compile it, for a tenth of the time to run.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        builder, manager = self._codegen._pass_builder(), llvm.create_new_function_pass_manager()
        manager.add_sroa_pass()
        manager.add_simplify_cfg_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                manager.run(function, builder)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def add_linking_library(self, library: Any) -> None:
        """All but Numba's own run time, of which kernels use nothing."""
        if library is not rtsys.library:
            super().add_linking_library(library)

    def get_pointer_to_function(self, name: str) -> int:
        """None: the code is not run here."""
        self._ensure_finalized()
        return 0

    def machine_code(self, name: str, *, unroll: bool, in_vectors: bool) -> bytes:
        """An object file, of which others see one function; all else may take any form, or vanish into its callers."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.name != name:
                function.linkage = "internal"
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization, options.loop_interleaving = True, True
        options.slp_vectorization, options.loop_unrolling = in_vectors, unroll
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)
        return bytes(self.emit_native_object())
