"""The routes of the web application, one module for each resource."""
