"""What single chapters say beyond their tables: for each study that needs it, functions of a run that its text can call."""
