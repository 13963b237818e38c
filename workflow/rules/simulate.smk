# From a study's settings to one table of results.


# Somebody else can end a worker, for want of memory above all, and it has no time to say so.
KILLED = (
    "Shard {wildcards.shard} of {wildcards.study} was killed from outside, perhaps for want of memory: it asked for "
    f"{SHARD_MB} MB. Run the same command again, with fewer jobs (-j) if memory is short; "
    "the shard goes on after the last cell that it finished."
)


# The C library keeps what is freed for the next data set: handing it to the kernel and back costs a page fault for every 4 KiB.
KEEP_MEMORY = "MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=33554432"


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
    params:
        memory=KEEP_MEMORY,
        seal=f"{SEALS}/run_shard/{{study}}-{{shard}}.sha256",
        killed=lambda wildcards: KILLED.format(wildcards=wildcards),
    shell:
        "{params.memory} python workflow/scripts/run_shard.py --study {wildcards.study} --settings {input.settings}"
        " --shard {wildcards.shard} --output {output.cells} --timings {output.timings} > {log} 2>&1"
        " || {{ code=$?; [ $code -le 128 ] || echo '{params.killed}' >> {log}; exit $code; }}"
        " && sha256sum {output} > {params.seal}"


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
    params:
        seal=f"{SEALS}/merge_cells/{{study}}.sha256",
    shell:
        "python workflow/scripts/merge_cells.py --settings {input.settings} --cells {input.cells}"
        " --timings {input.timings} --output {output.cells} --output-timings {output.timings} > {log} 2>&1"
        " && sha256sum {output} > {params.seal}"
