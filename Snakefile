# The workflow stands in workflow/, where other tools look for it, too; this file finds it from the root of a clone.
include: "workflow/Snakefile"


workflow.default_target = "all"
