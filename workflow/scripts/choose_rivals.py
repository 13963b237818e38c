"""Choose the settings of the published methods on public simulations, and write src/replication/studies/rivals.csv.
Nothing that is judged is looked at.

    python workflow/scripts/choose_rivals.py [--study unit_map fedrep] [--series rare-centaur ...]

For each setting (n, m, d, k, label noise, epsilon) of a tuned series of the default scale:
1. One grid for all settings, and for CENTAUR and private FedRep. Of these the options that their laws expect to be the
   best `SHORTLIST` are run, and the `FORMER` ones; where data depart from the model of the laws, the best
   `AT_EACH_CLIP` of each clip in place of the best of all. Of alternating minimisation, whose law has one pass, all are
   run.
2. They run on public data sets, `SEEDS`, which no judged cell has: all on the first `FIRST`, the `SECOND` options whose
   larger risk is least on the others, too.
3. Of those whose median risk is within `CLOSE` of the least, the one with the fewest rounds is chosen.
   A run that breaks down counts as infinite risk.
In a search for a number of users this number stands for the risk.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tqdm import tqdm

from privrep.privacy.accounting import gdp_mu
from privrep.simulate import run_cell
from privrep.theory.choice import law
from privrep.theory.rival_options import CLIPS, PASSES, ROUNDS
from privrep.theory.whole_methods import Regime
from privrep.users.misspecification import MISSPECIFICATIONS
from privrep.users.problem import Problem, Users
from replication.run.cli_errors import one_line_errors
from replication.run.config import ROOT, read_config, read_study, study_names
from replication.run.csv_tables import read_rows, write_rows
from replication.run.grids import Cell, expand
from replication.run.rivals import COLUMNS, SIZES, TABLE

SEEDS = range(2000, 2005)
SHORTLIST, FIRST, SECOND = 8, 2, 4
AT_EACH_CLIP = 2
CLOSE = 1.01
NOTHING = 0.1
"""A run counts as failed where its risk exceeds this share of that of predicting zero."""
FORMER = {
    "centaur": {"clip": 0.125, "rounds": 24, "step": 0.25, "init_share": 0.1},
    "private_fedrep": {"clip": 0.125, "rounds": 12, "step": 1.0, "init_share": 0.1},
}
"""Options of every setting before they were chosen, which stay among the candidates."""
LAWS = {"centaur": "centaur", "private_fedrep": "fedrep"}
"""Algorithm -> its name among the laws of whole methods."""


def method(cell: Cell) -> str:
    """Return the algorithm that a cell runs or searches with."""
    return cell.algorithm.removeprefix("smallest_users_").replace("smallest_users", "altmin")


def is_search(cell: Cell) -> bool:
    """Return whether a cell searches for a number of users."""
    return cell.algorithm.startswith("smallest_users")


def expected(cell: Cell, options: dict) -> float:
    """Return what the law of a method expects at a setting: the excess risk over that of predicting zero, or the users
    needed."""
    problem = cell.problem
    users = np.geomspace(64, problem.users, 200) if is_search(cell) else np.array([float(problem.users)])
    sizes = Regime(users, problem.samples, problem.dim, problem.rank, problem.label_noise_sd)
    name, chosen = LAWS[method(cell)], vars(cell.options) | options
    risk = law(name, sizes, np.full(len(users), gdp_mu(cell.budget.epsilon, cell.budget.delta)), chosen).risk
    if not is_search(cell):
        return float(risk[0])
    reached = risk <= cell.options.target
    return float(users[reached.argmax()]) if reached.any() else math.inf


def candidates(cell: Cell) -> list[dict]:
    """Return the options that are run for the setting of a cell."""
    if method(cell) not in LAWS:
        return PASSES
    ranked = sorted(ROUNDS, key=lambda options: expected(cell, options))
    if any(getattr(cell.problem, name) != getattr(Problem, name) for name in MISSPECIFICATIONS):
        shortlist = [one for clip in CLIPS for one in [one for one in ranked if one["clip"] == clip][:AT_EACH_CLIP]]
    else:
        shortlist = ranked[:SHORTLIST]
    former = FORMER[method(cell)]
    return shortlist if former in shortlist else [*shortlist, former]


def choice(cell: Cell) -> dict:
    """Return the options that are chosen for a cell's method and setting, and how they did: columns of the table."""
    tried = candidates(cell)
    values, failed = np.full((2, len(SEEDS), len(tried)), math.inf)
    left = range(len(tried))
    for place, seed in enumerate(SEEDS):
        if place == FIRST:
            left = np.argsort(values[:FIRST].max(axis=0), kind="stable")[:SECOND]
        problem = replace(cell.problem, seed=seed)
        users = Users(problem, master_seed=0)
        for number in left:
            options = replace(cell.options, **tried[number])
            row, _, _ = run_cell(replace(cell, options=options, problem=problem), users)
            found = row["status"] == "ok"
            if found:
                values[place, number] = row["smallest_users" if is_search(cell) else "excess_risk"]
            failed[place, number] = not found or row["excess_risk"] > NOTHING * cell.problem.rank
    medians = np.median(values, axis=0)
    close = [number for number in left if medians[number] <= CLOSE * medians.min()]
    best = min(close, key=lambda number: (tried[number].get("rounds", 0), medians[number]))
    return {
        "options": "{" + ", ".join(f"{name}: {value}" for name, value in tried[best].items()) + "}",
        "value": medians[best],
        "runs": len(SEEDS),
        "failed": int(failed[:, best].sum()),
    }


def settings(study: str) -> Iterator[Cell]:
    """Yield one cell for each setting of the tuned series of a study."""
    resolved = read_study(read_config(), study)
    series = {}
    for name, one in resolved.series.items():
        if one.tuned:  # any options of its grid do, which others replace
            first = PASSES[0] if one.algorithm in ("altmin", "smallest_users") else ROUNDS[0]
            series[name] = one.model_copy(update={"tuned": False, "options": one.options | first})
    cells = expand(resolved.model_copy(update={"series": series}))
    return (cell for cell in cells if cell.problem.seed == 0)


def setting(cell: Cell) -> dict:
    """Return the columns of the table that name the setting of a cell."""
    sizes = {name: getattr(cell.problem, name) for name in (*SIZES, "label_noise_sd")}
    return {"study": cell.study, "series": cell.series, **sizes, "epsilon": float(cell.budget.epsilon)}


@one_line_errors
def main() -> None:
    """Choose, and write the table anew after each setting: other rows stay."""
    studies = (read_study(read_config(), name) for name in study_names())
    tuned = [study.study for study in studies if any(series.tuned for series in study.series.values())]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--study", nargs="+", default=tuned, help="by default all that have tuned series")
    parser.add_argument("--series", nargs="+", help="by default all that are tuned")
    args = parser.parse_args()
    table = ROOT / TABLE

    def is_chosen_anew(study: str, series: str) -> bool:
        return study in args.study and (args.series is None or series in args.series)

    rows = [row for row in read_rows(table) if not is_chosen_anew(row["study"], row["series"])]
    chosen = {}
    for study in args.study:
        cells = [cell for cell in settings(study) if is_chosen_anew(study, cell.series)]
        for cell in tqdm(cells, f"choosing {study}"):
            if cell.key not in chosen:  # sweeps share settings
                chosen[cell.key] = choice(cell)
            rows.append(setting(cell) | chosen[cell.key])
            write_rows(table, rows, COLUMNS)


if __name__ == "__main__":
    main()
