# From a study's settings to one table of results.


# Every job that could start first waits for this one. None reads it (`ancient`), so that none is stale when it has run again.
rule check_findings:
    input:
        config=sorted(
            str(path)
            for folder in ("claims", "studies")
            for path in Path("config", folder).glob("*.yaml")
        ),
        code=code_of(
            "check_findings",
            *(f"src/privrep/report/findings/{study}.py" for study in WITH_FINDINGS),
        ),
    output:
        f"{RESULTS}/findings_checked.txt",
    log:
        f"logs/{RUN}/check_findings.log",
    benchmark:
        f"benchmarks/{RUN}/check_findings.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        studies=WITH_FINDINGS,
    shell:
        "python workflow/scripts/check_findings.py --studies {params.studies} --output {output} > {log} 2>&1"


rule resolve_study:
    input:
        ancient(rules.check_findings.output),
    output:
        f"{RESULTS}/{{study}}/{{part}}.json",
    log:
        f"logs/{RUN}/resolve_study/{{study}}-{{part}}.log",
    benchmark:
        f"benchmarks/{RUN}/resolve_study/{{study}}-{{part}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=resolved_settings,
    shell:
        "python workflow/scripts/resolve_study.py --settings {params.settings:q} --output {output} > {log} 2>&1"


rule run_shard:
    input:
        checked=ancient(rules.check_findings.output),
        settings=f"{RESULTS}/{{study}}/shards.json",
        code=simulation_code,
    output:
        cells=f"{RESULTS}/{{study}}/shards/{{shard}}.csv",
        timings=f"{RESULTS}/{{study}}/shards/{{shard}}.timings.csv",
    log:
        f"logs/{RUN}/run_shard/{{study}}-{{shard}}.log",
    benchmark:
        f"benchmarks/{RUN}/run_shard/{{study}}-{{shard}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    shell:
        "python workflow/scripts/run_shard.py --study {wildcards.study} --settings {input.settings}"
        " --shard {wildcards.shard} --output {output.cells} --timings {output.timings} > {log} 2>&1"


rule merge_cells:
    input:
        settings=f"{RESULTS}/{{study}}/shards.json",
        cells=shard_files("csv"),
        timings=shard_files("timings.csv"),
        code=code_of("merge_cells"),
    output:
        cells=f"{RESULTS}/{{study}}/cells.csv",
        timings=f"{RESULTS}/{{study}}/timings.csv",
    log:
        f"logs/{RUN}/merge_cells/{{study}}.log",
    benchmark:
        f"benchmarks/{RUN}/merge_cells/{{study}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    shell:
        "python workflow/scripts/merge_cells.py --settings {input.settings} --cells {input.cells}"
        " --timings {input.timings} --output {output.cells} --output-timings {output.timings} > {log} 2>&1"
