"""What name servers answer, compared with what they should, and waiting until they agree."""
