"""The words of FLEX: frozen values that come by the dozen. Nothing is decided here."""
