"""What is known when something is decided: from the logs, from earlier nights, from the name
servers.
"""
