# Replication of jain2021 and shen2023.
# Targets: all (default), the name of a study or a paper, or any file below figures/ and reports/.
from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/report.smk"


# On a cluster these are run where Snakemake is, as are those of tables and figures: they take seconds.
localrules:
    all,
    figures_pdf,
    check_errata,
    judge_claims,
    write_provenance,
    render_report,
    execute_tour,


rule all:
    default_target: True
    input:
        [
            f"{REPORTS}/{name}"
            for name in (
                "index.html",
                "tour.ipynb",
                "claims.csv",
                "errata.csv",
                "provenance.json",
            )
        ],
        [table for study in STUDIES for table in tables_of(study)],
        figure_files(*STUDIES),


# Not in `all`: PDF takes as long as all else of a figure.
rule figures_pdf:
    input:
        figure_files(*STUDIES, kinds=("pdf",)),


for paper, studies in STUDIES_OF_PAPER.items():

    rule:
        name:
            paper
        input:
            figure_files(*studies),
        localrule: True


for study in STUDIES:

    rule:
        name:
            study
        input:
            figure_files(study),
        localrule: True
