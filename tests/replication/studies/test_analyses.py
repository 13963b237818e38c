"""What every study's analysis makes of made-up cells, held against the reference of `made_up_cells`."""

from __future__ import annotations

import pytest
from made_up_cells import FOLDER, analyse, made_up, reference

from replication.run.config import study_names
from replication.studies.unit_map.analysis import LARGEST, SWEEPS


@pytest.mark.parametrize("study", study_names())
def test_an_analysis_finds_what_it_found(study, file_regression):
    """Number by number, and nothing more nor less."""
    file_regression.check(reference(study), fullpath=FOLDER / f"{study}.csv")


def test_what_agrees_stays_as_it_is_held(tmp_path, monkeypatch):
    """Of the other rows it is sought what moves them; those of nothing that is found go."""
    path = tmp_path / "unit_rates.csv"
    whole = (FOLDER / path.name).read_text().splitlines(keepends=True)
    name, value, moved = whole[1].rsplit(",", 2)
    agrees = f"{name},{float(value) * (1 + 1e-7)!r},{moved}"
    monkeypatch.setattr("made_up_cells.FOLDER", tmp_path)
    path.write_text("".join([whole[0], "gone,1,n\n", agrees, whole[2].replace(",", ",1"), *whole[4:]]))
    assert reference("unit_rates") == "".join([whole[0], agrees, *whole[2:]])


def test_a_sweep_has_repetitions_of_its_own():
    fewer = made_up("unit_map").query("seed == 0 or not series.str.startswith('map-')")
    found = {one.quantity: one.seeds for one in analyse("unit_map", fewer).quantities}
    assert [found[LARGEST % sweep] for sweep in SWEEPS] == [1, 2, 2]
