"""Privacy audits: how well an adversary distinguishes two users, against the ledger."""
