"""Which site goes on which node: the problem, its judge, and reasons for people. It solves
nothing.
"""
