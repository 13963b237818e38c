"""Parts that several algorithms share. None of them can be named in a study's settings."""
