"""Sites that cannot be told apart, taken as one kind."""
