"""One fit at d = 50, k = 2, m = 10. As a program: the peak memory of a process that does it, in bytes."""

import re
import resource
import sys
from pathlib import Path

from privrep.algorithms.altmin import AltminOptions
from privrep.data.problem import Problem, Users
from privrep.data.rng import stream
from privrep.fitting.method import Task
from privrep.fitting.runner import fit
from privrep.privacy.accounting import Budget
from privrep.privacy.ledger import Ledger

ALTMIN = AltminOptions(
    init="spectral", split="all-samples-reused", clip_feature=10.0, clip_label=2.0, init_label_clip=2.0
)
"""One epoch in which all samples serve every step: the split with the most work. The clips are near the medians of
||x|| ||v|| and |y|, so that about half of the samples are clipped."""


def whole_fit(users: int, **memory_budget: int) -> None:
    """Draw, spectral initialisation, one epoch, personalise, score. The memory budget is in bytes."""
    problem = Problem(users=users, samples=10, dim=50, rank=2, label_noise_sd=0.1)
    budget = Budget(epsilon=1.0, delta=1e-6)
    fit(ALTMIN, Task(Users(problem, **memory_budget), budget, lambda role: stream(0, role, problem.axes), Ledger()))


if __name__ == "__main__":
    whole_fit(int(sys.argv[1]))
    # On Linux `ru_maxrss` starts from that of the parent, so the kernel's own high-water mark is read.
    status = Path("/proc/self/status")
    mark = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    print(1024 * int(mark[1]) if mark else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
