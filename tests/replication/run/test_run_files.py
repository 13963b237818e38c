"""Files that a run writes before its jobs, from them, and about itself."""

import json
import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from pydantic import TypeAdapter, ValidationError
from workflow_helpers import script

from replication.run import config
from replication.run.columns import TIMING_COLUMNS, study_columns
from replication.run.config import read_config, read_study
from replication.run.csv_tables import read_rows, write_rows
from replication.run.grids import expand, merge_study, shards
from replication.run.memory import machine_mb
from replication.run.models import ConfigError
from replication.run.provenance import UNKNOWN, provenance
from replication.run.resolved import write_resolved
from replication.run.statements import Value

CONFIG = read_config().model_copy(update={"scale": "tiny"})
STUDY = read_study(CONFIG, "init_rates")
OLDER = "memory/memory.limit_in_bytes"


def test_tables_have_the_order_of_the_study(tmp_path):
    """However its cells were cut."""
    for table, columns in (("csv", study_columns(STUDY)), ("timings.csv", TIMING_COLUMNS)):
        for number, part in enumerate(shards(STUDY)):
            cells = [{"series": cell.series, "key": cell.key} for group in part for cell in group]
            write_rows(tmp_path / "shards" / f"{number}.{table}", cells, columns)
    merge_study(STUDY, tmp_path)
    for table in ("cells", "timings"):
        rows = [(row["series"], row["key"]) for row in read_rows(tmp_path / f"{table}.csv")]
        assert rows == [(cell.series, cell.key) for cell in expand(STUDY)]


def test_settings_are_written_where_they_change(tmp_path):
    """Those of cells that cannot be are not."""
    write_resolved(tmp_path, STUDY, CONFIG, ["i"], {})
    times = {path.stem: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    write_resolved(tmp_path, STUDY, CONFIG, ["i", "j"], {})
    assert [name for name in times if (tmp_path / f"{name}.json").stat().st_mtime_ns != times[name]] == ["measure"]
    broken = STUDY.model_copy(update={"problem": STUDY.problem | {"rank": 999}})
    with pytest.raises(ConfigError, match="rank is 999"):
        write_resolved(tmp_path, broken, CONFIG, ["i"], {})
    assert "999" not in (tmp_path / "shards.json").read_text()


def test_a_record_has_commit_changes_and_processor(tmp_path, monkeypatch):
    """As far as git and the system tell; equal configurations have one hash."""
    monkeypatch.setattr("replication.run.provenance.ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    first, same = (provenance(config) for config in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert (first["commit"], first["dirty"]) == (UNKNOWN, UNKNOWN) and first["config_sha256"] == same["config_sha256"]
    named = re.findall(r"model name\s*: *(.*\S)", info.read_text()) if (info := Path("/proc/cpuinfo")).exists() else []
    assert not named or first["cpu"] == named[0]
    for words in ("init -q", "-c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x"):
        subprocess.run(["git", "-C", tmp_path, *words.split()], check=True)
    clean, _ = provenance({}), (tmp_path / "new").touch()
    assert re.fullmatch("[0-9a-f]{40}", clean["commit"]) and (clean["dirty"], provenance({})["dirty"]) == (False, True)


def test_a_record_has_the_times_of_cells_and_jobs(tmp_path, monkeypatch):
    """Each is the sum of one column of all tables, no two of which agree; what is no number counts as 0."""
    monkeypatch.chdir(tmp_path)
    for number, (cpu, wall) in enumerate((([1.0, 2.0], [10.0, 20.0]), ([4.0, "-"], [40.0, "-"]))):
        pd.DataFrame({"cpu_seconds": cpu, "wall_seconds": wall}).to_csv(f"{number}.csv")
    for number, (seconds, cpu, ended) in enumerate(((100, 300, 1000), (50, 600, 1030), ("-", "-", 990))):
        pd.DataFrame({"s": [seconds], "cpu_time": [cpu]}).to_csv(f"{number}.tsv", sep="\t")
        os.utime(f"{number}.tsv", (ended, ended))
    words = "--config {} --timings 0.csv 1.csv --jobs 0.tsv 1.tsv 2.tsv --output record.json"
    monkeypatch.setattr("sys.argv", ["write_provenance.py", *words.split()])
    script("write_provenance").main()
    times = {"jobs": 3, "wall_seconds": 1030 - 900, "job_seconds": 150, "cell_seconds": 70, "cell_cpu_seconds": 7}
    times |= {"share_of_job_time_inside_cells": 0.467}
    record = json.loads(Path("record.json").read_text())
    assert {name: record[name] for name in times} == times


def test_what_a_file_lacks_is_named(tmp_path, monkeypatch):
    """A paper that has a study, a column of a table, a number among statements."""
    monkeypatch.setattr(config, "read_papers", lambda root: {})
    with pytest.raises(
        ConfigError, match=r"risk/settings\.yaml: no file of config/papers has 'risk' among its chapters"
    ):
        read_study(CONFIG, "risk")
    with pytest.raises(ValueError, match="column 'b' is not among its columns, a"):
        write_rows(tmp_path / "a.csv", [{"a": 1, "b": 2}], ("a",))
    for wrong in (True, "1"):
        with pytest.raises(ValidationError, match="must be a number for this rule"):
            TypeAdapter(Value).validate_python(wrong)


def test_the_memory_of_a_container_is_less_than_that_of_its_machine(tmp_path):
    """By the files of both kinds of control groups, one of which may set no limit."""
    whole = machine_mb(tmp_path)
    (tmp_path / "memory").mkdir()
    for name, text, most in (
        ("memory.max", "max\n", whole),
        ("memory.max", f"{3 << 20}\n", 3),
        (OLDER, f"{2 << 20}\n", 2),
    ):
        (tmp_path / name).write_text(text)
        assert machine_mb(tmp_path) == most
