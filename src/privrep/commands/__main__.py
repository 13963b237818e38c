"""`python -m privrep.commands`."""

from privrep.commands.main import app

app(prog_name="privrep")
