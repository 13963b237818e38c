"""The image experiments of shen2023 Section 6. Nothing else imports JAX.

Cells run side by side, one on each core, and each uses its own core alone: XLA sees one processor. With two, its
threads wait for each other in the small products of a client, which takes three times as long and keeps both busy.
"""

import os

os.environ.setdefault("PJRT_NPROC", "1")
# A GPU would round the factors of float32 products to 10 bits.
os.environ.setdefault("JAX_DEFAULT_MATMUL_PRECISION", "highest")
