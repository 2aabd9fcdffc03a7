"""What people wish, and what they ask before they act: why, and what if."""
