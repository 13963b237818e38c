"""The exponential mechanism of jain2021, Algorithm 4; no table can use it, since its net is exponential in d k."""
