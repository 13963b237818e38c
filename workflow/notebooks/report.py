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

from privrep.report import badges, claims_table, confirmation, deviations, papers, run_record, summary
from privrep.report.findings import (
    accounting,
    accounting_shen2023,
    centaur_rates,
    client_lemmas,
    clip_choice,
    figure2,
    heterogeneity,
    init_rates,
    local_convergence,
    power_method,
    risk,
    sample_complexity,
    tradeoff,
)
from privrep.report.run_tables import Run
from privrep.run.config import read_papers

run = Run.load()


def show(*parts: str) -> None:
    """Put HTML on the page."""
    for part in parts:
        display(HTML(part))


def say(*parts: str) -> None:
    """Put Markdown on the page."""
    for part in parts:
        display(Markdown(part))


def section(study: str, findings) -> None:
    """What a study found, its verdicts, its figures."""
    say(run.findings(study, findings))
    if run.has(study):
        show(run.section_claims(*run.claims_of(study)), *run.section_figures(study))


# %%
show(run_record.masthead(run.provenance))
say(tradeoff.headline(run), summary.summary(run.claims, run.errata))
show(summary.tally(run.claims), papers.papers(read_papers()), summary.scale_note(run.scale, run.claims))

# %% [markdown]
# ## How to read a verdict
#
# Each claim names a number and a rule. The verdict follows from the measured number, its 95 % interval over repetitions
# (Student's, with a bootstrap standard error; Clopper-Pearson for shares of runs; none below five repetitions), the rule, and the
# scale of the run. A verdict of agreement needs the whole interval on the claimed side.
#
# An exponent is the slope of log(error) against log(parameter). From it is taken what a finite grid adds: the slope of a
# derived law on the same grid, less that law's exponent. Where that is more than a third of the tolerance there is no verdict.
# The papers state upper bounds, so an error that grows more slowly than claimed agrees with the paper and makes the bound loose.
# VIOLATED needs an interval that is simultaneous over all exponents of the run.
#
# A row tests a statement of the paper's, our correction of one, or a law or a limit of ours; only the first kind counts as agreement or
# disagreement. Statements are read as their authors would want them read, under their own assumptions.

# %%
show(badges.verdict_guide())
say(summary.equivalence(run.claims))

# %% [markdown]
# ## What does not hold as printed
#
# One line for an error, with what is printed, how much it matters, and what a user of the result should do. Severity: P a privacy
# guarantee, R a rate, an assumption or a number, G a gap in a proof, C a missing constant, T a typo.

# %%
show(summary.accusations(run.claims))

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
    show(run.section_figure("figure2", "jain2021/figure2", figure2.size(cells)))
    show(run.section_claims(figure2.CLAIM))

# %% [markdown]
# ### Findings

# %%
say(run.findings("figure2", figure2.findings))

# %%
if run.has("figure2"):
    show(figure2.epochs_table(cells))

# %%
if run.has("figure2"):
    show(run.section_figure("figure2", "jain2021/figure2_fallbacks"))

# %% [markdown]
# ### All readings of the set-up

# %%
if run.has("figure2"):
    show(run.section_figure("figure2", "jain2021/figure2_readings"))
    show(figure2.readings_table(run.numbers("jain2021/figure2_readings"), cells))

# %% [markdown]
# ## Privacy statements
#
# A statement turns the noise multiplier $\Delta$ into a guarantee: releases that cost $\rho = c/\Delta^2$ in zCDP
# satisfy $\varepsilon = \rho + 2\sqrt{\rho\, \ln(1/\delta)}$. Neighbouring data sets differ in all samples of one user.

# %%
show(run.section_figure("accounting", "jain2021/privacy_accounting"))
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
section("init_rates", init_rates.findings)

# %% [markdown]
# ## Local convergence: Algorithms 1 and 2 of jain2021
#
# A subspace step on $n_t$ users with thresholds $\eta$ and $\zeta$ ends, by privacy noise alone, at (law F3)
#
# $$\mathrm{dist}_F \approx \frac{2 \Delta \eta}{n_t} \sqrt{k \eta^2 + \zeta^2}\, \sqrt{(d - k) \textstyle\sum_i \lambda_i^{-2}}$$
#
# as long as $x = 4 \sqrt{dk}\, \eta^2 \Delta / (n_t \lambda_k)$ is well below 1. Starts are planted at a known distance.

# %%
section("local_convergence", local_convergence.findings)

# %% [markdown]
# ## Excess risk of the complete method of jain2021
#
# With $r$ the part of the heads outside the released subspace, a final fit on $h = m/2$ samples has the risk (law F6)
#
# $$r \Bigl(1 + \frac{k}{h - k - 1}\Bigr) + \sigma_F^2 \frac{k}{h - k - 1}.$$

# %%
section("risk", risk.findings)

# %% [markdown]
# ## How many users and samples jain2021 needs

# %%
section("sample_complexity", sample_complexity.findings)

# %% [markdown]
# ## CENTAUR: Theorem 5.1 of shen2023
#
# Each round every user fits a head $w_i$ in the current $B$ and sends the gradient $G_i$ of its loss in $B$, clipped to
# $\zeta_g$; the server averages with noise and steps:
#
# $$B \leftarrow \mathrm{QR}\Bigl(B - \eta_g\, \frac{1}{n} \Bigl(\sum_i \mathrm{clip}(G_i) + \text{noise}\Bigr)\Bigr).$$
#
# Direction $i$ keeps $1 - \eta_g s_i^2$ of its error in each round (law F8). With $g = \eta_g \sigma_g \zeta_g / n$ the noise leaves
# (law F9)
#
# $$\mathrm{dist}_F \approx g\, \sqrt{(d - k) \textstyle\sum_i \bigl(1 - (1 - \eta_g s_i^2)^2\bigr)^{-1}}.$$

# %%
section("centaur_rates", centaur_rates.findings)

# %% [markdown]
# ## The start: private power method and selection of shen2023
#
# From a random $X$ every user sends $Y_i = M_i X$ with $M_i = \frac{1}{q} \sum_j y_{ij}^2\, x_{ij} x_{ij}^{\top}$, clipped to $\zeta_0$; the server
# averages with noise and orthonormalises. $T_0$ runs are independent, and one that agrees with at least half of them is selected. One
# iteration contracts by $k/(k + 2)$; with $g_0 = \sigma_0 \zeta_0 / n$ and no user clipped the noise leaves (law F11)
#
# $$\mathrm{dist}_F \approx g_0\, \sqrt{\frac{(d - k) k}{4 k + 4}}.$$

# %%
section("power_method", power_method.findings)

# %% [markdown]
# ## The lemmas behind Theorem 5.1
#
# One round of CENTAUR from a planted start, taken apart as in the proof: heads on $\bar m$ samples, the gradient $G$ on as many others,
# then $B' R = B - \eta G + \text{noise}$. Both sides of each lemma are measured in the same run: $\lVert G_i \rVert_F \le \zeta_g$ (C.1),
# $\delta_1 = \max_i \lVert B^{\top} S_i B - I \rVert$ (C.2), $\delta_2\, \mathrm{dist} = \max_i \lVert B^{\top} S_i (B B^{\top} - I) B^{*} \rVert$
# (C.3), $\lVert G - Q V \rVert \le \delta_3 s_1^2 k\, \mathrm{dist}$ (C.4) and the contraction $\sqrt{1 - E_0 / (8 \kappa^2)}$ (C.5). The lemmas of
# Appendix D are checked with the measured deltas.

# %%
section("client_lemmas", client_lemmas.findings)

# %% [markdown]
# ## Users who have little in common
#
# The gradient of the representation alone vanishes at the optimum, whatever the heads are. The update of a model that all users share does
# not: its size is that of $\theta_j - \bar\theta$. Then the methods of Section 6 of shen2023 as linear analogues, at the same exact
# privacy, with clips by one rule that looks at no score.

# %%
section("heterogeneity", heterogeneity.findings)

# %% [markdown]
# ## Privacy statements of shen2023
#
# A round adds noise of standard deviation $\sigma_g \zeta_g$ to a sum of vectors of norm at most $\zeta_g$. Removing a user moves the
# sum by $\zeta_g$; replacing one, as in Definition 2.1, moves it by $2 \zeta_g$. Theorem 5.2 charges $4 \alpha T_g / \sigma_g^2$ for
# start and rounds and states $\varepsilon = 2 \sqrt{T_g \ln(1/\delta)} / \sigma_g$. All numbers here are arithmetic.

# %%
section("accounting_shen2023", accounting_shen2023.findings)

# %% [markdown]
# ## Both papers at one budget
#
# Both complete methods run on the same users at the same exact $(\varepsilon, \delta)$, and pay for their initialisation: Algorithms 3, 1
# and 2 of jain2021, then personalisation; power method, selection and CENTAUR of shen2023. Clips and the budget's share for the
# initialisation are chosen by one rule for both on simulated data, and judged once on fresh seeds.

# %%
section("tradeoff", tradeoff.findings)
section("clip_choice", clip_choice.findings)

# %% [markdown]
# ## All verdicts
#
# A command draws the figure of its claim again, with all that it needs.

# %%
show(claims_table.claims_filter(run.claims), claims_table.claims_table(run.claims, run.shown()))

# %% [markdown]
# ## Confirmation

# %%
show(*confirmation.section())

# %% [markdown]
# ## What was revised, filled in or replaced

# %%
say(deviations.summary(run.deviations))
show(deviations.deviations_table(run.deviations))

# %% [markdown]
# ## Errata
#
# What is printed, what is right, and a demonstration that would come out differently if the printed version were right.

# %%
show(papers.errata_table(run.errata))

# %% [markdown]
# ## Provenance

# %%
show(run_record.provenance_table(run.provenance))
