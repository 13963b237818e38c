"""What a run resolves for the jobs of a study, one file for each purpose: a job reads its own and nothing of config/.

What decides cells stands apart from what decides fits, and that from what a figure alone shows, so that a change reruns what depends on it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from privrep.evidence.quantities import measured
from privrep.run.config import read_study
from privrep.run.grids import expand
from privrep.run.settings import Analysis, Model, RunConfig, RunSettings, Simulation, Study


def write_resolved(folder: Path, study: Study, config: RunConfig, claims: list[dict]) -> None:
    """Bring results/<run>/<study>/<purpose>.json up to date, each in one move; a file that says the same is left alone.

    Raises
    ------
    ConfigError
        If simulations are new or have changed, and one of their cells is out of range or infeasible; see `grids.expand`.
    """
    texts = {
        folder / f"{purpose}.json": json.dumps(settings, indent=1) + "\n"
        for purpose, settings in resolved(study, config, claims).items()
    }
    changed = {path: text for path, text in texts.items() if not path.exists() or path.read_text() != text}
    if folder / "shards.json" in changed:
        expand(study)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in changed.items():
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(text)
        os.replace(temporary, path)


def resolved(study: Study, config: RunConfig, claims: list[dict]) -> dict[str, dict]:
    """Purpose -> settings, for `ShardSettings`, `MeasureSettings` and `PlotSettings`.

    Parameters
    ----------
    claims : those of the study's paper.
    """
    other = read_study(config, study.against).series if study.against else {}
    analysis = _part(study, Analysis) | {"options": {name: series.options for name, series in other.items()}}
    return {
        "shards": {
            "study": _part(study, Simulation),
            **{key: getattr(config, key) for key in RunSettings.model_fields},
        },
        "measure": analysis | {"quantities": measured(study), "complete": study.study not in config.overrides},
        "plot": analysis | {"claimed": claimed_exponents(claims, study.study)},
    }


def _part(study: Study, model: type[Model]) -> dict:
    return study.model_dump(include=set(model.model_fields), exclude_unset=True)


def claimed_exponents(claims: list[dict], study: str) -> dict[str, float]:
    """Name of a fit -> the exponent that the paper claims.

    Raises
    ------
    ValueError
        If two claims differ in it.
    """
    claimed: dict[str, float] = {}
    for quantity in (one for claim in claims if claim.get("study") == study for one in claim["quantities"]):
        if quantity["rule"] == "rate":
            name = quantity["measure"].removeprefix("exponent ")
            if claimed.setdefault(name, quantity["value"]) != quantity["value"]:
                raise ValueError(
                    f"two claims give {name!r} different exponents, {claimed[name]} and {quantity['value']}"
                )
    return claimed
