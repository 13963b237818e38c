# From results to one table, measured quantities, figures, verdicts and errata.


# One job per study measures, one draws, and one draws for print when asked for.
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
                "measure_study",
                HERE / "src/replication/studies" / study / "analysis.py",
            ),
            # The long image runs, which are kept
            kept=[HERE / "docs/record/images.csv"] if study == "images" else [],
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
            "../envs/rules.yml"
        threads: 1
        resources:
            mem_mb=TABLE_MB,
        params:
            folder=Path(RESULTS, study),
            figures=Path(FIGURES),
        shell:
            f"python {SCRIPTS}/measure_study.py"
            " --folder {params.folder} --figures {params.figures} > {log} 2>&1"
            " && sha256sum {output} > {log}.sha256"

    for step, kind, pictures in (
        ("plot", "svg", captioned(study)),
        ("print", "pdf", figure_files(study, kinds=("pdf",))),
    ):

        rule:
            name:
                f"{step}_{study}"
            input:
                numbers=figure_files(study, kinds=("csv",)),
                settings=f"{RESULTS}/{study}/plot.json",
                code=code_of("plot_study", *own_drawing(study)),
            output:
                pictures,
            log:
                f"logs/{RUN}/{step}_{study}.log",
            benchmark:
                f"benchmarks/{RUN}/{step}_{study}.tsv"
            priority: SOON
            localrule: True
            conda:
                "../envs/rules.yml"
            threads: 1
            resources:
                mem_mb=TABLE_MB,
            params:
                figures=Path(FIGURES),
                kind=kind,
            shell:
                f"python {SCRIPTS}/plot_study.py"
                " --settings {input.settings}"
                " --figures {params.figures} --kind {params.kind} > {log} 2>&1"
                " && sha256sum {output} > {log}.sha256"


rule check_errata:
    input:
        texts=HERE / "src/replication/errata/errata.yaml",
        code=code_of("check_errata"),
    output:
        report(
            f"{REPORTS}/errata.csv",
            caption="../report/errata.rst",
            category="Claims",
            labels={"table": "errors in print"},
        ),
    log:
        f"logs/{RUN}/check_errata.log",
    benchmark:
        f"benchmarks/{RUN}/check_errata.tsv"
    priority: 15
    localrule: True
    conda:
        "../envs/rules.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    shell:
        f"python {SCRIPTS}/check_errata.py"
        " --texts {input.texts:q} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {log}.sha256"


rule judge_claims:
    input:
        claims=f"results/{RUN}/claims.json",
        measures=expand(f"{RESULTS}/{{study}}/measures.csv", study=STUDIES),
        confirmation=HERE / "docs/confirmation.csv",
        code=code_of("judge_claims"),
    output:
        report(
            f"{REPORTS}/claims.csv",
            caption="../report/claims.rst",
            category="Claims",
            labels={"table": "verdict of each claim"},
        ),
    log:
        f"logs/{RUN}/judge_claims.log",
    benchmark:
        f"benchmarks/{RUN}/judge_claims.tsv"
    localrule: True
    conda:
        "../envs/rules.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    params:
        scale=CONFIG.scale,
        figures=Path(FIGURES),
        options=RUN_OPTIONS,
    shell:
        f"python {SCRIPTS}/judge_claims.py"
        " --claims {input.claims} --measures {input.measures}"
        " --confirmation {input.confirmation:q} --scale {params.scale} --figures {params.figures}"
        " --options={params.options:q} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {log}.sha256"
