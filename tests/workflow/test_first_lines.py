"""The first line of a red test says what is wrong and where."""

import shutil
import subprocess
import sys

import first_lines

FAULTS = {
    "for file in ('a.md', 'b.md'): assert len(file + 'x' * (file < 'b')) >= 5": (" where file = 'b.md'", "4 >= 5"),
    "assert all(number < 3 for number in range(5))": ("all((number < 3 for number", "not for 3"),
    "assert {'a': 1, 'b': 2} == {'a': 1, 'b': 3}": ("{'b': 2} != {'b': 3}",),
    "assert [*range(60)] == [*range(14), 20, *range(15, 60)]": ("At index 14 diff: 14 != 20",),
    "assert 'abc\\ndef' == 'abc\\ndeg'": ("- deg; + def",),
    "with pytest.raises(ValueError, match='word'):\n        pass": ("match='word'", "DID NOT RAISE"),
    "np.testing.assert_array_equal(np.arange(9), 0)": (
        "assert_array_equal(np.arange(9), 0)",
        "Mismatched elements: 8 / 9",
    ),
    "{}['key']": ("KeyError: 'key'",),
    "file_regression.check('same\\n' * 60 + 'new\\n', fullpath=pathlib.Path('held.txt').absolute())": (
        "FILES DIFFER: held.txt; -old; +new",
    ),
}


def test_a_first_line_names_the_test_the_case_and_the_difference(tmp_path):
    shutil.copy(first_lines.__file__, tmp_path)
    tests = [f"def test_number_{i}(case, file_regression):\n    {fault}\n" for i, fault in enumerate(FAULTS)]
    mark = "@pytest.mark.parametrize('case', ['one'])\n"
    text = "\n".join(["import pathlib", "import numpy as np", "import pytest", *(mark + test for test in tests)])
    (tmp_path / "test_faults.py").write_text(text)
    (tmp_path / "held.txt").write_text("same\n" * 60 + "old\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "first_lines", "-p", "no:cacheprovider", "-p", "no:xdist"]
    said = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": ".", "CI": "true"}, capture_output=True, text=True)
    lines = [line for line in said.stdout.splitlines() if line.startswith("FAILED ")]
    assert len(lines) == len(FAULTS)
    for i, (line, words) in enumerate(zip(lines, FAULTS.values(), strict=True)):
        missing = [word for word in (f" - number {i} [one]", *words) if word not in line]
        assert missing == [], line
