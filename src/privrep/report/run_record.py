# ruff: noqa: RUF001  (typographic signs are meant)
"""The record of a run: what it was made with, when, and how long it took."""

from __future__ import annotations

import html

from privrep.report.html_pieces import scrolling
from privrep.report.spelling import count, number, sentence, share


def masthead(record: dict) -> str:
    """One line under the title: which run this is."""
    commit = f"<code>{(record['commit'] or 'unknown')[:10]}</code>{' with changes' if record['dirty'] else ''}"
    day = record["finished"][:10]
    scale, seed = html.escape(record["config"]["scale"]), record["config"]["master_seed"]
    return f'<p class="masthead">Scale {scale} · seed {seed} · commit {commit} · {day}</p>'


def provenance_table(record: dict) -> str:
    """What the run was made with, and how long it took: every entry named ..._seconds or share_... is shown."""
    packages = ", ".join(f"{name} {version}" for name, version in record["packages"].items())
    blas = " ".join(str(value) for value in (record.get("blas") or {}).values())
    state = "with uncommitted changes" if record["dirty"] else "clean"
    seconds = {name.removesuffix("_seconds"): value for name, value in record.items() if name.endswith("_seconds")}
    rows = [
        ["Commit", f"<code>{html.escape(record['commit'] or 'unknown')}</code>, {state}"],
        ["Scale", html.escape(record["config"]["scale"])],
        ["Master seed", f"<code>{record['config']['master_seed']}</code>"],
        ["Configuration", f"sha256 <code>{record['config_sha256'][:16]}</code>"],
        ["Studies", html.escape(", ".join(record["config"]["studies"]))],
        ["Python", html.escape(f"{record['python']}; {packages}")],
        ["Processor", html.escape(f"{record['cpu']}; {record['platform']}")],
        ["BLAS", html.escape(blas)],
        ["Finished", html.escape(record["finished"].replace("T", " ").replace("+00:00", " UTC"))],
        ["Jobs", count(record["jobs"])],
        ["Time", ", ".join(f"{_words(name)} {duration(value)}" for name, value in seconds.items())],
    ]
    for name, value in record.items():
        if name.startswith("share_"):
            rows.append([sentence(_words(name)), "–" if value is None else share(value)])
    return scrolling(
        f'<table class="provenance"><tbody>{"".join(_pair(*row) for row in rows)}</tbody></table>', "Provenance"
    )


def _words(name: str) -> str:
    """A key as words."""
    return name.replace("_", " ").replace("cpu", "CPU")


def _pair(name: str, value: str) -> str:
    return f'<tr><th scope="row">{name}</th><td>{value}</td></tr>'


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(42), duration(754), duration(7300)
    ('42 s', '12.6 min', '2.03 h')
    """
    if seconds < 120:
        return f"{number(seconds)} s"
    return f"{number(seconds / 60)} min" if seconds < 7200 else f"{number(seconds / 3600)} h"
