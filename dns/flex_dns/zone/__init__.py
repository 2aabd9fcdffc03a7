"""What a zone says now, read from its primary."""
