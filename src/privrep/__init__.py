"""privrep: learning a shared representation under user-level differential privacy, replicated.

jain2021 is Jain, Rush, Smith, Song, Thakurta, "Differentially Private Model Personalization" (NeurIPS 2021);
shen2023 is Shen, Ye, Kang, Hassani, Shokri, "Share Your Representation Only" (ICLR 2023).
"""

__version__ = "0.1.0"
