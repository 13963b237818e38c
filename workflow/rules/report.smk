# The record of the run and the page that shows it.


rule write_provenance:
    input:
        claims=rules.judge_claims.output,
        timings=expand(f"{RESULTS}/{{study}}/timings.csv", study=SIMULATED),
        code=code_of("write_provenance"),
    output:
        f"{REPORTS}/provenance.json",
    log:
        f"logs/{RUN}/write_provenance.log",
    benchmark:
        f"benchmarks/{RUN}/write_provenance.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        config=json.dumps(dict(config)),
        run=RUN,
    shell:
        "python workflow/scripts/write_provenance.py --config {params.config:q} --timings {input.timings}"
        " --jobs benchmarks/{params.run} --output {output} > {log} 2>&1"
