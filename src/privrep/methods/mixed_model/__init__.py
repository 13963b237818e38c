"""The mixed model behind the estimator, this project's method: its plan, its weights and their calibration."""
