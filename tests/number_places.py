"""What the chapters, the texts on the whole run and the captions put in at each place, and after which words:
tests/reference/number_places.txt.

Two names in a text can change places, and no table says of which one the words beside them speak. So each place is
listed, once read, and `test_chapters` compares. A line has the text, the three words before the place and what is put
in, or a condition or name that rests on numbers.

python tests/number_places.py     writes the list; read the lines that change
"""

from __future__ import annotations

import re
from pathlib import Path

from privrep.report.captions import PLACEHOLDER, read_captions
from privrep.report.chapters import TEXTS, chapter_file
from privrep.run.config import ROOT, study_names

LISTED = Path(__file__).with_name("reference") / "number_places.txt"
TAG = re.compile(r"\{\{(.*?)\}\}|\{%-?(.*?)-?%\}|\{#.*?#\}", flags=re.DOTALL)
WITHOUT_NUMBERS = re.compile(r"(?:sep|figure|claims)\(|\"")
ASKS = re.compile(r"\b(?:[qne]|value|low|high|law|numbered|judged|size|values|constant)\(|set names = ")


def places() -> list[str]:
    """All places, in the order of the texts."""
    chapters = {study: chapter_file(study) for study in study_names()}
    texts = chapters | {f"texts/{path.stem}": path for path in sorted(TEXTS.glob("*.md"))}
    found = [f"{name} | {place}" for name, path in texts.items() for place in places_in(path.read_text(), TAG)]
    for study in study_names():
        for figure, caption in read_captions(ROOT / "config" / "studies" / f"{study}.yaml").items():
            found += [f"{figure} | {place}" for place in places_in(caption.text, PLACEHOLDER)]
    return found


def places_in(text: str, tag: re.Pattern) -> list[str]:
    """Those of one text. Groups of the tag : what it puts in; what it asks."""
    found, words, end = [], [], 0
    for match in tag.finditer(text):
        words, end = [*words, *text[end : match.start()].split()], match.end()
        put, asked = (" ".join((part or "").split()) for part in (*match.groups(), None)[:2])
        if put and (ASKS.search(put) or not WITHOUT_NUMBERS.match(put)):
            found.append(f"{' '.join(words[-3:])} | {put}")
            words = []
        elif ASKS.search(asked):
            found.append(f"| {asked}")
    return found


if __name__ == "__main__":
    LISTED.write_text("".join(f"{place}\n" for place in places()))
