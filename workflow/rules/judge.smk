# From results to one table, measured quantities, figures, verdicts and errata.


# One measuring and one plotting job per study, and one for print when asked for.
# One job draws all figures of a study, since importing the plotting stack costs more than drawing.
for study in STUDIES:

    rule:
        name:
            f"measure_{study}"
        input:
            shards=shards_of(study),
            settings=[
                f"{RESULTS}/{study}/{name}.json" for name in ("shards", "measure")
            ],
            code=code_of("measure_study", f"src/privrep/studies/{study}/analysis.py"),
            # The long image runs, which are kept
            kept=["docs/record/images.csv"] if study == "images" else [],
        output:
            tables_of(study),
            figure_files(study, kinds=("csv",)),
        log:
            f"logs/{RUN}/measure_{study}.log",
        benchmark:
            f"benchmarks/{RUN}/measure_{study}.tsv"
        priority: cost(f"measure_{study}")
        localrule: True
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=TABLE_MB,
        params:
            checksum=f"{CHECKSUMS}/measure_{study}.sha256",
            folder=Path(RESULTS, study),
            figures=Path(FIGURES),
        shell:
            "python workflow/scripts/measure_study.py --folder {params.folder} --figures {params.figures} > {log} 2>&1"
            " && sha256sum {output} > {params.checksum}"

    rule:
        name:
            f"plot_{study}"
        input:
            numbers=figure_files(study, kinds=("csv",)),
            settings=f"{RESULTS}/{study}/plot.json",
            code=code_of("plot_study", *own_drawing(study)),
        output:
            figure_files(study, kinds=("svg",)),
        log:
            f"logs/{RUN}/plot_{study}.log",
        benchmark:
            f"benchmarks/{RUN}/plot_{study}.tsv"
        priority: cost(f"plot_{study}")
        localrule: True
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=TABLE_MB,
        params:
            checksum=f"{CHECKSUMS}/plot_{study}.sha256",
            figures=Path(FIGURES),
        shell:
            "python workflow/scripts/plot_study.py --settings {input.settings}"
            " --figures {params.figures} > {log} 2>&1"
            " && sha256sum {output} > {params.checksum}"

    rule:
        name:
            f"print_{study}"
        input:
            numbers=figure_files(study, kinds=("csv",)),
            settings=f"{RESULTS}/{study}/plot.json",
            code=code_of("plot_study", *own_drawing(study)),
        output:
            figure_files(study, kinds=("pdf",)),
        log:
            f"logs/{RUN}/print_{study}.log",
        benchmark:
            f"benchmarks/{RUN}/print_{study}.tsv"
        localrule: True
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=TABLE_MB,
        params:
            checksum=f"{CHECKSUMS}/print_{study}.sha256",
            figures=Path(FIGURES),
        shell:
            "python workflow/scripts/plot_study.py --settings {input.settings}"
            " --figures {params.figures} --print > {log} 2>&1"
            " && sha256sum {output} > {params.checksum}"


rule check_errata:
    input:
        texts="config/errata.yaml",
        code=code_of("check_errata"),
    output:
        f"{REPORTS}/errata.csv",
    log:
        f"logs/{RUN}/check_errata.log",
    benchmark:
        f"benchmarks/{RUN}/check_errata.tsv"
    priority: cost("check_errata")
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    params:
        checksum=f"{CHECKSUMS}/check_errata.sha256",
    shell:
        "python workflow/scripts/check_errata.py --texts {input.texts} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {params.checksum}"


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
        checksum=f"{CHECKSUMS}/judge_claims.sha256",
        scale=CONFIG.scale,
        figures=Path(FIGURES),
        options=RUN_OPTIONS,
    shell:
        "python workflow/scripts/judge_claims.py --claims {input.claims} --measures {input.measures}"
        " --confirmation {input.confirmation} --scale {params.scale} --figures {params.figures}"
        " --options={params.options:q} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {params.checksum}"
