"""The simulator from outside the core: traces of real logs, policies side by side, the papers'
experiments run again.
"""
