"""The command `privrep`: a private prior of a table, and what follows from one that was published."""
