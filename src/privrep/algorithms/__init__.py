"""One file per algorithm. A file that can be named in a study defines `Algorithm`, a frozen dataclass of its options

with two methods: `check(problem)` raises ValueError when the options do not fit the problem, and `fit(task)` returns an
`Outcome`. The study names the file; nothing has to be registered.
"""
