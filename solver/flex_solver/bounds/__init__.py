"""How few moves there must be: numbers that no balanced partition can stay under, and proofs."""
