# The record of the run, the page that shows it, and a notebook to explore it.


rule write_provenance:
    input:
        claims=rules.judge_claims.output,
        errata=rules.check_errata.output,
        figures=figure_files(*STUDIES),
        timings=expand(f"{RESULTS}/{{study}}/timings.csv", study=SIMULATED),
        code=code_of("write_provenance"),
    output:
        f"{REPORTS}/provenance.json",
    log:
        f"logs/{RUN}/write_provenance.log",
    benchmark:
        f"benchmarks/{RUN}/write_provenance.tsv"
    localrule: True
    conda:
        "../envs/rules.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    params:
        config=json.dumps({**config, "studies": list(STUDIES)}),
        jobs=[f"benchmarks/{RUN}/{job}.tsv" for job in JOBS],
    shell:
        f"python {SCRIPTS}/write_provenance.py"
        " --config {params.config:q} --timings {input.timings}"
        " --jobs {params.jobs} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {log}.sha256"


rule render_report:
    input:
        claims=rules.judge_claims.output,
        errata=rules.check_errata.output,
        provenance=rules.write_provenance.output,
        studies=[
            HERE / "src/replication/studies" / study / "settings.yaml"
            for study in STUDIES
        ],
        papers=sorted((HERE / "config/papers").glob("*.yaml")),
        tables=[table for study in STUDIES for table in page_tables(study)],
        figures=figure_files(*STUDIES),
        page=PAGE_FILES,
        deviations=HERE / "src/replication/studies/deviations.yaml",
        record=[
            HERE / "docs" / name
            for name in (
                "confirmation.csv",
                "record/claims.csv",
                "record/differences.yaml",
                "record/provenance.json",
            )
        ],
        texts=TEXTS,
        code=PAGE_CODE,
    output:
        page=report(
            f"{REPORTS}/index.html",
            caption="../report/page.rst",
            category="Page",
            labels={"page": "all claims, figures and numbers"},
        ),
        captions=[
            caption_file(figure)
            for study in STUDIES.values()
            for figure in study.figures
        ],
    log:
        f"logs/{RUN}/render_report.log",
    benchmark:
        f"benchmarks/{RUN}/render_report.tsv"
    localrule: True
    conda:
        "../envs/rules.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    params:
        reports=Path(REPORTS),
        results=Path(RESULTS),
        figures=Path(FIGURES),
    shell:
        f"python {SCRIPTS}/render_report.py"
        " --reports {params.reports} --results {params.results}"
        " --figures {params.figures} --output {output.page} > {log} 2>&1"
        " && sha256sum {output} > {log}.sha256"


rule execute_tour:
    input:
        claims=rules.judge_claims.output,
        measures=expand(f"{RESULTS}/{{study}}/measures.csv", study=STUDIES),
        cells=expand(f"{RESULTS}/{{study}}/cells.csv", study=SIMULATED),
        figures=figure_files(*STUDIES),
        source=HERE / "workflow/notebooks/tour.py",
        code=code_of("execute_tour", HERE / "workflow/notebooks/tour.py"),
    output:
        f"{REPORTS}/tour.ipynb",
    log:
        f"logs/{RUN}/execute_tour.log",
    benchmark:
        f"benchmarks/{RUN}/execute_tour.tsv"
    localrule: True
    conda:
        "../envs/rules.yml"
    threads: 1
    resources:
        mem_mb=TABLE_MB,
    shell:
        f"python {SCRIPTS}/execute_tour.py"
        " --source {input.source:q} --output {output} > {log} 2>&1"
        " && sha256sum {output} > {log}.sha256"
