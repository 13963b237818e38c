"""Leading-order laws, with constants, of the algorithms of both papers: predictions of a measured error.

They are derived for isotropic noise in the complement of the true subspace and predict the exponent on a finite grid:
factors such as sqrt(d - k) move the slope of a small grid away from the asymptotic exponent. All laws take numbers
or arrays. Each module starts with its notation; a docstring starts with the number of the law (F1 to F11), or with the
corresponding place of the papers."""
