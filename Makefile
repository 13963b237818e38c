# Every target sets up .venv by itself from the hash-pinned requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
SNAKEMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" snakemake
JOBS ?= 8
# make quick SEED=7 draws everything anew and writes to results/quick-seed7
SEED ?=
DRAW := $(if $(SEED),--config master_seed=$(SEED))

.PHONY: all quick paper tiny test bench report lint lock clean

all: .venv/ready
	@$(call run,)

quick: .venv/ready
	@$(call run,--configfile config/scales/quick.yaml)

paper: .venv/ready
	@$(call run,--configfile config/scales/paper.yaml)

tiny: .venv/ready
	@$(call run,--configfile config/scales/tiny.yaml)

# After a kill the folder is locked: unlock it once no run is alive.
define run
PATH="$(CURDIR)/$(BIN):$$PATH" python workflow/scripts/unlock.py && \
$(SNAKEMAKE) -j$(JOBS) all $(1) $(DRAW) && \
$(BIN)/python workflow/scripts/where.py $(1) $(if $(SEED),--master-seed $(SEED))
endef

test: .venv/ready
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 --dist worksteal

bench: .venv/ready
	$(BIN)/python workflow/scripts/bench.py --output reports/benchmarks.json

report: all
	$(SNAKEMAKE) --report reports/workflow.zip

lint: .venv/ready
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/codespell
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(SNAKEMAKE) --lint

# setuptools and wheel come first: one dependency of snakemake is source only and is built without isolation.
.venv/ready: requirements.lock pyproject.toml
	@echo "Setting up .venv from requirements.lock"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@awk '/^[a-z]/ {keep = /^(setuptools|wheel|packaging)==/} keep' requirements.lock > .venv/build.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r .venv/build.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps --no-build-isolation -r requirements.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Needs uv.
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --custom-compile-command "make lock" --output-file requirements.lock

clean:
	rm -rf results logs benchmarks .snakemake
	find figures reports -mindepth 1 ! -name .gitkeep -delete
