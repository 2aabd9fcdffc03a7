"""Whether a primary would do what FLEX will ask of it, found out before the first night."""
