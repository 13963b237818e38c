"""Every erratum has a text and a demonstration, and the demonstration confirms it."""

from __future__ import annotations

import pytest

from privrep.config import ROOT, check_schema, read_yaml
from privrep.errata import DEMONSTRATIONS

TEXTS = read_yaml(ROOT / "config" / "claims" / "errata.yaml")


def test_texts_and_demonstrations_have_the_same_ids():
    check_schema(TEXTS, "errata", "config/claims/errata.yaml")
    assert [text["id"] for text in TEXTS["errata"]] == list(DEMONSTRATIONS)


@pytest.mark.parametrize("erratum", DEMONSTRATIONS)
def test_demonstration_confirms(erratum):
    finding = DEMONSTRATIONS[erratum]()
    assert finding.confirmed, finding.measured
    assert finding.measured
