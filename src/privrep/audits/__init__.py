"""How far an adversary can tell two users apart, against what the ledger says."""
