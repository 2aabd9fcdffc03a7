"""What people wish, and what they ask before they do: why, and what if."""
