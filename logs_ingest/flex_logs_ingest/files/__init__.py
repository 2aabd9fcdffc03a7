"""Which files a source means, and their bytes, wherever and however they are kept."""
