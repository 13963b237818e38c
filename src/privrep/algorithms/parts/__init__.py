"""What several algorithms share. Nothing here can be named in a study's settings."""
