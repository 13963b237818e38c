"""What a method and its options are, and how one is run: its noise calibrated, held to its budget, scored."""
