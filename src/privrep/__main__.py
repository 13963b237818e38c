"""The command `privrep`, as `python -m privrep`."""

from privrep.estimator.commands.main import app

app(prog_name="privrep")
