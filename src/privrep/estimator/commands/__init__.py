"""The command `privrep`: a private prior of a table, and uses of a published one."""
