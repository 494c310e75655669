"""Numerical tools without a word of mechanics: quadrature, polynomials, differences."""
