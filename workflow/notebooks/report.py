# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Learning a shared representation under user-level differential privacy

# %%
from IPython.display import HTML, Markdown, display

from privrep.report import claim_rows, outcome, record, sources, verdicts
from privrep.report.findings import accounting, figure2, init_rates, local_convergence, risk, sample_complexity
from privrep.report.run import Run

run = Run.load()


def show(*parts: str) -> None:
    """Put HTML on the page."""
    for part in parts:
        display(HTML(part))


def say(*parts: str) -> None:
    """Put Markdown on the page."""
    for part in parts:
        display(Markdown(part))


def section(study: str, findings, figures: dict[str, str]) -> None:
    """What a study found, its verdicts, its figures."""
    say(run.findings(study, findings))
    if run.has(study):
        show(run.section_claims(*run.claims_of(study)))
        for figure, label in figures.items():
            show(run.section_figure(f"jain2021/{figure}", label))


# %%
show(record.masthead(run.provenance))
say(outcome.summary(run.claims, run.errata))
show(outcome.tally(run.claims), sources.papers(run.claims["paper"]), outcome.scale_note(run.scale, run.claims))

# %% [markdown]
# ## How to read a verdict
#
# Each claim names a number and a rule. The verdict follows from the measured number, its 95 % bootstrap interval over
# repetitions, the rule, and the scale of the run. A verdict of agreement needs the whole interval on the claimed side.
#
# An exponent is the slope of log(error) against log(parameter). From it is taken what a finite grid adds: the slope of a
# derived law on the same grid, less that law's exponent. The papers state upper bounds, so an error that grows more slowly
# than claimed agrees with the paper and makes the bound loose. VIOLATED needs an interval that is simultaneous over all
# exponents of the run.

# %%
show(verdicts.verdict_guide())

# %% [markdown]
# ## Figure 2 of jain2021
#
# User $j = 1, \dots, n$ has a head $v^{*}_j \in \mathbb{R}^k$ of its own and samples $i = 1, \dots, m$; all users share
# $U^{*} \in \mathbb{R}^{d \times k}$:
#
# $$y_{ij} = x_{ij}^{\top} U^{*} v^{*}_j + z_{ij}.$$
#
# Alternating minimisation fits the heads $v_j$ on each user’s side, then releases noisy sums over all users and solves
# for $U$. With $w_{ij} = \mathrm{vec}(x_{ij} v_j^{\top})$, and $w_{ij}$ and $y_{ij}$ clipped,
#
# $$\Bigl(\sum_{j,i} w_{ij} w_{ij}^{\top} + \text{noise}\Bigr)\, \mathrm{vec}(U)
# = \sum_{j,i} y_{ij} w_{ij} + \text{noise}.$$
#
# The noise is $\Delta = \sqrt{8\, E\, \ln(1/\delta)} / \varepsilon$ times the sensitivity in each of $E$ epochs.
# The score, with heads fitted anew, is
#
# $$\mathrm{MSE} = \frac{1}{n} \sum_{j=1}^{n} \lVert U v_j - U^{*} v^{*}_j \rVert^2 + \sigma_F^2.$$

# %%
if run.has("figure2"):
    cells = run.cells("figure2")
    say(figure2.set_up(cells))
    show(run.section_figure("jain2021/figure2", "Figure 2, again", figure2.size(cells)))
    show(run.section_claims(figure2.CLAIM))

# %% [markdown]
# ### Findings

# %%
say(run.findings("figure2", figure2.findings))

# %%
if run.has("figure2"):
    show(figure2.epochs_table(cells))

# %% [markdown]
# ### All readings of the set-up

# %%
if run.has("figure2"):
    show(run.section_figure("jain2021/figure2_readings", "Readings"))
    show(figure2.readings_table(run.numbers("jain2021/figure2_readings"), cells))

# %% [markdown]
# ## Privacy statements
#
# A statement turns the noise multiplier $\Delta$ into a guarantee: releases that cost $\rho = c/\Delta^2$ in zCDP
# satisfy $\varepsilon = \rho + 2\sqrt{\rho\, \ln(1/\delta)}$. Neighbouring data sets differ in all samples of one user.

# %%
show(run.section_figure("jain2021/privacy_accounting", "Privacy accounting"))
say(run.findings("accounting", accounting.findings))

# %% [markdown]
# ## Initialisation: Algorithm 3 of jain2021
#
# From pairs $(a, b)$ of each user’s samples Algorithm 3 releases
#
# $$M = \sum \mathrm{sym}\Bigl(\frac{x_a x_b^{\top}}{\lVert x_a \rVert \lVert x_b \rVert}\, y_a y_b\Bigr) + \text{noise}$$
#
# and takes its top $k$ eigenvectors. Privacy noise alone gives (law F1)
#
# $$\mathrm{dist}_F \approx \frac{2 \Delta \zeta^2 d\, \sqrt{(d - k) k}}{n \lambda}.$$

# %%
section(
    "init_rates",
    init_rates.findings,
    {
        "init_privacy": "Privacy term",
        "init_sampling": "Sampling term",
        "init_collapse": "Threshold",
        "init_norms": "Two norms",
        "init_laws": "Other heads and thresholds",
        "davis_kahan": "Lemma B.2",
    },
)

# %% [markdown]
# ## Local convergence: Algorithms 1 and 2 of jain2021
#
# A subspace step on $n_t$ users with thresholds $\eta$ and $\zeta$ ends, by privacy noise alone, at (law F3)
#
# $$\mathrm{dist}_F \approx \frac{2 \Delta \eta}{n_t} \sqrt{k \eta^2 + \zeta^2}\, \sqrt{(d - k) \textstyle\sum_i \lambda_i^{-2}}$$
#
# as long as $x = 4 \sqrt{dk}\, \eta^2 \Delta / (n_t \lambda_k)$ is well below 1. Starts are planted at a known distance.

# %%
section(
    "local_convergence",
    local_convergence.findings,
    {
        "local_privacy": "Privacy term",
        "local_label_noise": "Privacy term under label noise",
        "local_floor": "Floor",
        "local_laws": "Other heads and thresholds",
        "local_start": "Starts and rounds",
        "local_breakdown": "Breakdown",
        "step_lemmas": "Lemmas of the proof",
    },
)

# %% [markdown]
# ## Excess risk of the complete method of jain2021
#
# With $r$ the part of the heads outside the released subspace, a final fit on $h = m/2$ samples has the risk (law F6)
#
# $$r \Bigl(1 + \frac{k}{h - k - 1}\Bigr) + \sigma_F^2 \frac{k}{h - k - 1}.$$

# %%
section(
    "risk",
    risk.findings,
    {
        "risk_privacy": "Privacy term",
        "risk_known_heads": "Heads known",
        "risk_heads": "Last term",
        "risk_premise": "Premise of Theorem 1.1",
        "risk_statistical": "Statistical term",
        "risk_laws": "Other heads and thresholds",
    },
)

# %% [markdown]
# ## How many users and samples jain2021 needs

# %%
section(
    "sample_complexity",
    sample_complexity.findings,
    {"users_needed": "Users", "samples_needed": "Samples per user", "assumption": "Assumption 4.1"},
)

# %% [markdown]
# ## All verdicts
#
# A command draws the figure of its claim again, with all that it needs.

# %%
show(claim_rows.claims_filter(run.claims), claim_rows.claims_table(run.claims, run.shown()))

# %% [markdown]
# ## Errata
#
# What is printed, what is right, and a demonstration that would come out differently if the printed version were right.

# %%
show(sources.errata_table(run.errata))

# %% [markdown]
# ## Provenance

# %%
show(record.provenance_table(run.provenance))
