"""The neural experiments of shen2023 Section 6. Nothing else imports JAX.

Cells run side by side, one on each core: XLA's products stay on the core of their cell, which costs a quarter less in all.
"""

import os

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
