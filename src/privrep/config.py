"""Configuration: read, merge, check, and say in one sentence what is wrong.

A study is config/studies/<name>.yaml with the overrides of the chosen scale merged in. Everything is checked before
any job starts: types and names by the JSON schemas in workflow/schemas, ranges and feasibility by building every cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "workflow" / "schemas"


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the file, the key, the value and what it may be."""


def read_yaml(path: Path) -> dict:
    """A YAML mapping.

    Raises
    ------
    ConfigError
        If the file is missing, is not YAML, or is no mapping.
    """
    path = Path(path)
    if not path.exists():
        raise ConfigError(f"{path}: there is no such file")
    try:
        content = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: this is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: this must be a mapping of keys to values")
    return content


def merge(base: Mapping, overrides: Mapping) -> dict:
    """Mappings merge key by key; any other value of `overrides` replaces that of `base`."""
    merged = dict(base)
    for key, value in overrides.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def _complaint(error) -> str:
    """One clause for a schema violation."""
    value, rule = error.instance, error.validator
    if rule == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(value) - set(known))
        return f"{unknown[0]!r} is not a known key; known are {', '.join(known)}"
    if rule == "required":
        missing = next(key for key in error.validator_value if key not in value)
        return f"the key {missing!r} is missing"
    if rule == "type":
        wanted = error.validator_value
        wanted = " or ".join(wanted) if isinstance(wanted, list) else wanted
        hint = ""
        if isinstance(value, str) and re.fullmatch(r"[-+]?\d+e[-+]?\d+", value):
            hint = f"; YAML reads {value} as text, write {value.replace('e', '.0e')}"
        return f"{value!r} is a {type(value).__name__}, it must be a {wanted}{hint}"
    if rule == "enum":
        return f"{value!r} must be one of {', '.join(map(str, error.validator_value))}"
    limits = {
        "minimum": "at least",
        "maximum": "at most",
        "exclusiveMinimum": "greater than",
        "exclusiveMaximum": "less than",
    }
    if rule in limits:
        return f"{value!r} must be {limits[rule]} {error.validator_value}"
    if rule in ("minItems", "minProperties"):
        return "this is empty; it needs at least one entry"
    return error.message


def check_schema(content: dict, schema: str, source: str) -> None:
    """Raise ConfigError unless `content` satisfies workflow/schemas/<schema>.schema.json."""
    validator = Draft202012Validator(json.loads((SCHEMAS / f"{schema}.schema.json").read_text()))
    error = best_match(validator.iter_errors(content))
    if error is not None:
        key = ".".join(str(part) for part in error.absolute_path)
        raise ConfigError(f"{source}: {key + ': ' if key else ''}{_complaint(error)}")


def read_config(overlays: list[Path] = (), root: Path = ROOT) -> dict:
    """config/config.yaml with overlay files merged in, checked."""
    config = read_yaml(root / "config" / "config.yaml")
    for overlay in overlays:
        config = merge(config, read_yaml(overlay))
    check_config(config)
    return config


def check_config(config: dict) -> None:
    """Raise ConfigError unless the merged configuration is complete and known."""
    check_schema(config, "config", f"config/config.yaml (scale {config.get('scale', '?')})")


def read_study(config: dict, name: str, root: Path = ROOT) -> dict:
    """The settings of one study with the overrides of the scale merged in, checked against the schema."""
    path = root / "config" / "studies" / f"{name}.yaml"
    study = merge(read_yaml(path), config["overrides"].get(name, {}))
    source = f"config/studies/{name}.yaml"
    check_schema(study, "study", source)
    for fit, spec in study.get("fits", {}).items():
        known = study.get("series", {})
        if spec["series"] not in known:
            raise ConfigError(f"{source}: fits.{fit}.series: {spec['series']!r} must be one of {', '.join(known)}")
    return study


def read_claims(paper: str, root: Path = ROOT) -> list[dict]:
    """The claims of one paper, from config/claims/<paper>.yaml."""
    content = read_yaml(root / "config" / "claims" / f"{paper}.yaml")
    check_schema(content, "claims", f"config/claims/{paper}.yaml")
    return content["claims"]


def run_name(config: dict) -> str:
    """Folder of a run under results/: the scale, and the master seed when it is not the default one."""
    default = read_yaml(ROOT / "config" / "config.yaml")["master_seed"]
    suffix = "" if config["master_seed"] == default else f"-seed{config['master_seed']}"
    return f"{config['scale']}{suffix}"
