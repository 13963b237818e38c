"""The schemas for editors: those of the models, which accept every file of the configuration and explain every key."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest
from workflow_helpers import ROOT

from replication.run.config import read_yaml

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
from write_schemas import schemas

FILES = [
    *ROOT.glob("config/*.yaml"),
    *ROOT.glob("config/*/*.yaml"),
    *ROOT.glob("src/replication/studies/*/settings.yaml"),
]


def test_schemas_are_current():
    """`python workflow/scripts/write_schemas.py` writes them."""
    assert {path: path.read_text() for path in schemas()} == schemas()


def test_every_key_is_explained():
    for text in schemas().values():
        schema = json.loads(text)
        for part in (schema, *schema.get("$defs", {}).values()):
            assert [key for key, entry in part["properties"].items() if not entry["description"]] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_names_a_schema_that_accepts_it(path: Path):
    """In its first line; a key that is misspelt in it is refused."""
    first = path.read_text().split("\n", 1)[0]
    schema = json.loads((path.parent / first.removeprefix("# yaml-language-server: $schema=")).read_text())
    content = read_yaml(path)
    jsonschema.validate(content, schema)
    with pytest.raises(jsonschema.ValidationError, match="'figurs'"):
        jsonschema.validate(content | {"figurs": {}}, schema)
