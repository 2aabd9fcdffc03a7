"""What `-o json` prints and the API answers, as models."""
