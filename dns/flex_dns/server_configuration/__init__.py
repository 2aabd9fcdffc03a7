"""What a name server has to be told of FLEX: the text to paste into its configuration."""
