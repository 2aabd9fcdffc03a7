"""What people wish for their sites, which wishes can be kept, and for how long."""
