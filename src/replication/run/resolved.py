"""Settings that a run resolves for the jobs of a study, one file for each kind of job, which reads this file and
nothing of config/.

Settings that decide cells, settings that decide fits, and settings that only figures show are in separate files, so
that a change reruns only what depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from privrep.users.whole_files import in_one_move
from replication.run.config import Layer
from replication.run.grids import expand
from replication.run.models import Model
from replication.run.settings import Analysis, Number, RunConfig, RunSettings, Simulation, Spec, Study


def write_resolved(
    folder: Path,
    study: Study,
    config: RunConfig,
    quantities: list[str],
    numbers: Mapping[str, Number],
    files: Sequence[Layer] = (),
) -> None:
    """Bring results/<run>/<study>/<purpose>.json up to date; if settings of cells changed, build all cells first.

    ConfigError names the line, in one of `files`, of a cell that is out of range or infeasible.
    """
    for purpose, settings in resolved(study, config, quantities, numbers).items():
        path, text = folder / f"{purpose}.json", as_json(settings)
        if purpose == "shards" and (not path.exists() or path.read_bytes() != text.encode()):
            expand(study, files)
        write_if_changed(path, text)


def as_json(settings: object) -> str:
    """Return settings as JSON."""
    return json.dumps(settings, indent=1) + "\n"


def write_if_changed(path: Path, text: str) -> None:
    """Write a file, the whole text or nothing, unless it has that text already: then no job runs again for it."""
    if path.exists() and path.read_bytes() == text.encode():
        return
    with in_one_move(path) as temporary:
        temporary.write_text(text)


def resolved(study: Study, config: RunConfig, quantities: list[str], numbers: Mapping[str, Number]) -> dict[str, dict]:
    """Return purpose -> settings, for `ShardSettings`, `MeasureSettings` and `PlotSettings`, of a study that measures
    the given quantities, some of which are numbers that its file defines."""
    drawn = {name: figure.ylabel for name, figure in study.figures.items() if figure.ylabel}
    sweeps = {name: {"panels": study.panels_of(name), "ylabel": ylabel} for name, ylabel in drawn.items()}
    fits = {name: _part(fit, Spec) for name, fit in study.fits.items()}
    analysis = _part(study, Analysis) | {"fits": fits, "figures": list(study.figures), "sweeps": sweeps}
    defined = {name: number.model_dump(exclude_unset=True) for name, number in numbers.items()}
    return {
        "shards": {"study": _part(study, Simulation)} | _part(config, RunSettings),
        "measure": analysis | {"numbers": defined, "quantities": quantities, "complete": study.complete},
        "plot": analysis | {"claimed": {name: fit.claimed for name, fit in study.fits.items() if fit.claim}},
    }


def _part(whole: Model, model: type[Model]) -> dict:
    return whole.model_dump(include=set(model.model_fields), exclude_unset=True)
