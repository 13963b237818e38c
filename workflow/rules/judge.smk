# From results to one table, measured quantities, figures, verdicts and errata.


# One measuring job per study. One job draws the figures of a paper, or of a study where its own are requested, since
# importing the plotting stack costs as much as drawing; for print when asked for.
for study in STUDIES:

    rule:
        name:
            f"measure_{study}"
        input:
            shards=shards_of(study),
            settings=[
                f"{RESULTS}/{study}/{name}.json" for name in ("shards", "measure")
            ],
            code=code_of(
                "measure_study", f"src/replication/studies/{study}/analysis.py"
            ),
            # The long image runs, which are kept
            kept=["docs/record/images.csv"] if study == "images" else [],
        output:
            tables_of(study),
            figure_files(study, kinds=("csv",)),
        log:
            f"logs/{RUN}/measure_{study}.log",
        benchmark:
            f"benchmarks/{RUN}/measure_{study}.tsv"
        priority: SOON
        localrule: True
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=TABLE_MB,
        params:
            folder=Path(RESULTS, study),
            figures=Path(FIGURES),
        shell:
            "python workflow/scripts/measure_study.py --folder {params.folder} --figures {params.figures} > {log} 2>&1"
            " && sha256sum {output} > {log}.sha256"


for part, studies in DRAWN_TOGETHER.items():

    for step, kind, words in (("plot", "svg", ""), ("print", "pdf", "--print")):

        rule:
            name:
                f"{step}_{part}"
            input:
                numbers=figure_files(*studies, kinds=("csv",)),
                settings=[f"{RESULTS}/{study}/plot.json" for study in studies],
                code=code_of("plot_study", *own_drawing(*studies)),
            output:
                figure_files(*studies, kinds=(kind,)),
            log:
                f"logs/{RUN}/{step}_{part}.log",
            benchmark:
                f"benchmarks/{RUN}/{step}_{part}.tsv"
            priority: SOON
            localrule: True
            conda:
                "../../environment.yml"
            threads: 1
            resources:
                mem_mb=TABLE_MB,
            params:
                figures=Path(FIGURES),
                words=words,
            shell:
                "python workflow/scripts/plot_study.py --settings {input.settings}"
                " --figures {params.figures} {params.words} > {log} 2>&1"
                " && sha256sum {output} > {log}.sha256"


rule check_errata:
    input:
        texts="src/replication/errata/errata.yaml",
        code=code_of("check_errata"),
    output:
        f"{REPORTS}/errata.csv",
    log:
        f"logs/{RUN}/check_errata.log",
    benchmark:
        f"benchmarks/{RUN}/check_errata.tsv"
    priority: 15
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    shell:
        "python workflow/scripts/check_errata.py --texts {input.texts} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {log}.sha256"


rule judge_claims:
    input:
        claims=f"results/{RUN}/claims.json",
        measures=expand(f"{RESULTS}/{{study}}/measures.csv", study=STUDIES),
        confirmation="docs/confirmation.csv",
        code=code_of("judge_claims"),
    output:
        f"{REPORTS}/claims.csv",
    log:
        f"logs/{RUN}/judge_claims.log",
    benchmark:
        f"benchmarks/{RUN}/judge_claims.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    params:
        scale=CONFIG.scale,
        figures=Path(FIGURES),
        options=RUN_OPTIONS,
    shell:
        "python workflow/scripts/judge_claims.py --claims {input.claims} --measures {input.measures}"
        " --confirmation {input.confirmation} --scale {params.scale} --figures {params.figures}"
        " --options={params.options:q} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {log}.sha256"
