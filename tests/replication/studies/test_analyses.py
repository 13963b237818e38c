"""What every study's analysis makes of made-up cells, held against the reference of `made_up_cells`."""

from __future__ import annotations

import pytest
from made_up_cells import alike, analyse, findings, made_up, reference, told

from replication.run.config import study_names
from replication.studies.unit_map.analysis import LARGEST, SWEEPS


@pytest.mark.parametrize("study", study_names())
def test_an_analysis_finds_what_it_found(study):
    """Number by number, and nothing more nor less."""
    known = reference(study).set_index("name")["value"].to_dict()
    found = told(study, made_up(study), findings(study))
    assert known.keys() == found.keys()
    wrong = {name: (value, found[name]) for name, value in known.items() if not alike(value, found[name])}
    assert wrong == {}


def test_a_sweep_has_repetitions_of_its_own():
    fewer = made_up("unit_map").query("seed == 0 or not series.str.startswith('map-')")
    found = {one.quantity: one.seeds for one in analyse("unit_map", fewer).quantities}
    assert [found[LARGEST % sweep] for sweep in SWEEPS] == [1, 2, 2]
