"""What the verbs ask of a FLEX server, where `--server` names one. Settings and database of this
machine are not read.
"""
