"""Write the JSON schemas of the configuration into config/schemas, by which an editor completes, explains and checks
keys: of a study's settings.yaml, of config/config.yaml with its overlays, and of a paper's file.

They are made of the models in `replication.run.settings` and `replication.evidence.claims`, whose docstrings say what
each key is, and of the parameters of a problem.
"""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from privrep.users.simulated import Problem
from replication.evidence.claims import Claim
from replication.run.config import ROOT
from replication.run.models import Model
from replication.run.resolved import as_json, write_if_changed
from replication.run.settings import SCALES, Paper, RunConfig, Study

FOLDER = ROOT / "config" / "schemas"
AT_SCALE = {name: {"type": "object", "description": f"what differs at the scale {name}"} for name in SCALES}
FROM_PLACE = ("study", "paper", "complete", "choices", "name")
"""Keys of models that stand in no file, since the file's place gives their values."""


def meanings(model: type) -> dict[str, str]:
    """Return what the docstrings of a model and of its bases say of each key, in their form `key, key : text`."""
    found = {}
    for kind in reversed(model.__mro__):
        about = " ".join((kind.__doc__ or "").split()) if issubclass(kind, Model) else ""
        parts = re.split(r"(?:^|(?<=[.)`]) )((?:[a-z_]+, )*[a-z_]+) +: ", about)
        for keys, text in zip(parts[1::2], parts[2::2], strict=True):
            found |= dict.fromkeys(keys.split(", "), text.strip())
    return found


def models(model: type[Model]) -> dict[str, type]:
    """Return a model of the replication and all its subclasses, by name."""
    return {model.__name__: model} | {
        name: one for kind in model.__subclasses__() for name, one in models(kind).items()
    }


def schema_of(model: type[Model]) -> dict[str, Any]:
    """Return the JSON schema of a file, with a description for each key."""
    schema = model.model_json_schema()
    for name, part in ({model.__name__: schema} | schema.get("$defs", {})).items():
        about, properties = meanings(models(Model)[name]), part["properties"]
        for key in FROM_PLACE:
            properties.pop(key, None)
        for key, entry in properties.items():
            entry.pop("title", None)
            entry["description"] = about.get(key, "")
        if name in ("Study", "Series", "Axes"):
            properties |= AT_SCALE
        if "problem" in properties:
            of_problem = {one.name: {"description": one.metadata["meaning"]} for one in fields(Problem)}
            properties["problem"] |= {"properties": of_problem, "additionalProperties": False}
        part["required"] = [key for key in part.get("required", []) if key in properties]
    return schema


def schemas() -> dict[Path, str]:
    """Return the text of each schema by its file."""
    study, claim, run = schema_of(Study), schema_of(Claim), schema_of(RunConfig)
    study["$defs"] |= claim.pop("$defs") | {"Claim": claim}
    study["properties"]["claims"]["items"] = {"$ref": "#/$defs/Claim"}
    run["required"] = []  # an overlay need not have all keys
    made = {"study": study, "run": run, "paper": schema_of(Paper)}
    return {FOLDER / f"{name}.json": as_json(schema) for name, schema in made.items()}


if __name__ == "__main__":
    for path, text in schemas().items():
        write_if_changed(path, text)
