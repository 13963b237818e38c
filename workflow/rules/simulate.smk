# From a study's settings to one table of results.


rule run_shard:
    input:
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
    resources:
        mem_mb=SHARD_MB,
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
    resources:
        mem_mb=TABLE_MB,
    shell:
        "python workflow/scripts/merge_cells.py --settings {input.settings} --cells {input.cells}"
        " --timings {input.timings} --output {output.cells} --output-timings {output.timings} > {log} 2>&1"
