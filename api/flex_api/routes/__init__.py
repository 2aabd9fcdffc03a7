"""What the web application answers to, one module a resource."""
