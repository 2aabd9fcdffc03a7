"""Routing of replicated sites by content, on stock HAProxy.

Every node that serves a replicated site runs HAProxy in front of its web server. Whichever node DNS
sends a visitor to, the request goes to the replica that has its target in memory, unless that one
is overloaded. HAProxy decides; FLEX writes what it decides by.
"""
