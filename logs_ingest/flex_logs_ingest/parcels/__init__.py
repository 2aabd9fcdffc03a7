"""Counts that were made beside the logs, sent, checked and taken in."""
