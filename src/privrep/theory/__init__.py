"""Leading-order laws of the algorithms of both papers, with constants: what a measured error is expected to be.

They are derived for isotropic noise in the complement of the true subspace, and say what exponent a finite grid should
show: factors such as sqrt(d - k) move the slope of a small grid away from the asymptotic exponent. All take numbers or
arrays. Each module opens with its notation; a docstring opens with the number of the law (F1 to F11), or with the place
of the papers that it goes with."""
