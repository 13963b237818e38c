"""What every study's analysis makes of made-up cells, held against the reference of `made_up_cells`."""

import pytest
from made_up_cells import FOLDER, analyse, made_up, reference

from replication.run.config import study_names
from replication.studies.unit_map.analysis import LARGEST, SWEEPS


@pytest.mark.parametrize("study", study_names())
def test_an_analysis_finds_what_it_found(study, file_regression):
    """Number by number, and nothing more nor less."""
    file_regression.check(reference(study), fullpath=FOLDER / f"{study}.csv")


def test_what_agrees_stays_as_it_is_held(tmp_path, monkeypatch):
    """Other rows are those of what is found."""
    found = {"a": 1.0, "b": 2.0, "c": 3.0}
    for name, made in {"FOLDER": tmp_path, "made_up": lambda study: None, "told": lambda *_: found}.items():
        monkeypatch.setattr(f"made_up_cells.{name}", made)
    (tmp_path / "risk.csv").write_text("name,value,moved by\ngone,0,n\nb,2.5,n\na,1.00000001,n\n")
    assert reference("risk") == "name,value,moved by\na,1.00000001,n\nb,2,\nc,3,\n"


def test_a_sweep_has_repetitions_of_its_own():
    fewer = made_up("unit_map").query("seed == 0 or not series.str.startswith('map-')")
    found = {one.quantity: one.seeds for one in analyse("unit_map", fewer).quantities}
    assert [found[LARGEST % sweep] for sweep in SWEEPS] == [1, 2, 2]
