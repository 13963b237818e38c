"""The mixed model, this project's method behind the estimator: the method, its plan, its weights and calibration."""
