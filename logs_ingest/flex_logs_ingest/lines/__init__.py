"""One log line: which layout it has, where its fields are, what their texts mean."""
