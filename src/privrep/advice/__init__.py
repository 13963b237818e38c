"""Which method for one's own users: what the laws expect, how far they err, and how many users a target needs."""
