"""What goes with a site that moves: whether its new node is ready, and the commands that bring what
it needs.
"""
