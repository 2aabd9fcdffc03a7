"""How few moves there must be: numbers that no balanced placement can stay under, and proofs."""
