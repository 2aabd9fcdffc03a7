"""What is known when something is decided: of the logs, of earlier nights, of the name servers; and
as models.
"""
