"""Reading logs, each line once: which log a file is, and where reading goes on."""
