# From a study's settings to the results of its shards.


# A worker that the kernel ends, mostly for want of memory, leaves no message of its own. 130 is Ctrl-C.
KILLED = (
    "Shard {wildcards.shard} of {wildcards.study} was killed from outside, perhaps for want of memory: it asked for "
    "{resources.mem_mb} MB. Run the same command again, with fewer jobs (-j) if memory is short."
)


rule run_shard:
    input:
        settings=f"{RESULTS}/{{study}}/shards.json",
        code=f"{RESULTS}/{{study}}/code.json",
    output:
        cells=f"{RESULTS}/{{study}}/shards/{{shard}}.csv",
        timings=f"{RESULTS}/{{study}}/shards/{{shard}}.timings.csv",
    log:
        f"logs/{RUN}/run_shard/{{study}}-{{shard}}.log",
    benchmark:
        f"benchmarks/{RUN}/run_shard/{{study}}-{{shard}}.tsv"
    priority: lambda wildcards: seconds_of(f"run_shard/{wildcards.study}")
    conda:
        "../envs/rules.yml"
    threads: 1
    resources:
        mem_mb=shard_memory,
        runtime=shard_minutes,
    shell:
        f"python {SCRIPTS}/run_shard.py"
        " --study {wildcards.study} --settings {input.settings}"
        " --shard {wildcards.shard} --output {output.cells} --timings {output.timings}"
        " > {log} 2>&1 || {{ code=$?; [ $code -le 128 -o $code -eq 130 ] || echo '"
        + KILLED
        + "' >> {log}; exit $code; }}"
        " && sha256sum {output} > {log}.sha256"
