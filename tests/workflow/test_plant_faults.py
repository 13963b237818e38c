"""Faults that a tool plants: each changes one thing and leaves the lines where they are."""

import ast

from workflow_helpers import script

plant_faults = script("plant_faults")
SOURCE = '''"""Not 1."""

@keep(2)
def one(a: int | float, b=0.5) -> int & bool:
    """Not 3."""
    if a:
        a.b = not a < f"{b + 1}"
    call(a,
         b)
    b += a  # pragma: no cover
    return -a if b else True
'''
CHANGED = """one: 0.5 -> 1.0
one: a -> not a
one: a.b = not a < f'{b + 1}' left out
one: not a < f'{b + 1}' -> a < f'{b + 1}'
one: a < f'{b + 1}' -> a <= f'{b + 1}'
one: call(a, b) left out
one: call(a, b) -> call(b, a)
one: b -> not b
one: -a -> a
one: True -> False"""


def test_each_fault_is_one_change(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(SOURCE)
    found = list(plant_faults.faults(str(path)))
    assert sorted(told for _, _, told, _ in found) == sorted(CHANGED.splitlines())
    for _, line, told, changed in found:
        assert changed.count(b"\n") == SOURCE.count("\n")
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))
        new = told.rpartition(" -> ")[2] if " -> " in told else "pass"
        assert new.replace(" ", "") in "".join(changed.decode().split()) and SOURCE.splitlines()[line - 1].strip()


def test_the_share_that_is_seen_leaves_out_what_is_harmless():
    rows = [{"folder": "src/x", "outcome": outcome} for outcome in 8 * ["seen"] + 2 * ["survives"] + 5 * ["harmless"]]
    (line,) = plant_faults.scores(rows).splitlines()[1:]
    assert line.split(maxsplit=4) == ["src/x", "15", "5", "2", "80.0% [49.0%, 94.3%]"]
