"""What the verbs do on this machine, with its settings and its database."""
