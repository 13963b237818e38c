"""Leading-order laws of the algorithms of both papers, with constants: what a measured error is expected to be.

They are derived for isotropic noise in the complement of the true subspace, and say what exponent a finite grid should
show: factors such as sqrt(d - k) move the slope of a small grid away from the asymptotic exponent. All take numbers or
arrays. Symbols: n users, m samples, d dim, k rank, lam_i the eigenvalues of E v v^T, Delta the noise multiplier, eta
and zeta the clipping thresholds, sigma the label noise. A docstring opens with the number of the law, or with the place
of the papers that it goes with.

jain2021    : F1 to F6.
shen2023    : F8 to F11.
mixed_model : the released mixed model, by draws of its noise.
shared      : the largest singular value of a matrix of normals.
"""
