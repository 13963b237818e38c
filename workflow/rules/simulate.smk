# From a study's settings to the results of its shards.


# What is said of a shard by the exit status of its worker, but after Ctrl-C (130). One that is killed says nothing itself.
SAID = {
    "126|127": "did not start: there is no Python here under the name python; activate the environment of this "
    "project, and run the same command again",
    "129|1[3-9]?|2[0-9]?": "was killed from outside, perhaps for want of memory: it asked for {resources.mem_mb} MB; "
    "run the same command again, with fewer jobs (-j) if memory is short",
    "*": "failed with exit status $code; the lines before say why; mend it, and run the same command again",
}
CASES = " ".join(
    f'{status}) echo "Shard {{wildcards.shard}} of {{wildcards.study}} {text}";;'
    for status, text in SAID.items()
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
        " > {log} 2>&1 || {{ code=$?; [ $code = 130 ] || case $code in "
        + CASES
        + " esac >> {log}; exit $code; }}"
        " && sha256sum {output} > {log}.sha256"
