"""The neural experiments of shen2023 Section 6. Nothing else imports JAX."""
