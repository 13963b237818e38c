"""The exponential mechanism of jain2021, Algorithm 4; not for real tables, as its net grows exponentially in d k."""
