# Every target sets up .venv by itself from the hash-pinned requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
JOBS ?= 8
# make quick SEED=7 draws everything anew and writes to results/quick-seed7
SEED ?=
# Files whose docstrings list parameters, which numpydoc checks
DOCUMENTED = $(addprefix src/privrep/privacy/,accounting.py contributions.py mechanisms.py)
RUN = python workflow/scripts/run_all.py --jobs $(JOBS) $(if $(SEED),--master-seed $(SEED))

# The environment of a folder that was moved goes on there: the paths in it follow, but to one with blanks, where programs need other first lines.
MOVED := $(shell test -e .venv/ready && was="`sed -n 's|^command = .* -m venv \(.*\)/\.venv$$|\1|p' .venv/pyvenv.cfg`" && \
  test -n "$$was" -a "$$was" != "$(CURDIR)" && expr "$(CURDIR)" : '[^ ]*$$' > /dev/null && grep -rlIF "$$was" .venv/pyvenv.cfg $(BIN) .venv/lib/*/site-packages/*.pth | \
  tr '\n' '\0' | xargs -0 sed -i "s|$$was|$(CURDIR)|g")
# Set up anew where the last set-up did not end, its Python is gone, or another one is asked for.
ASKED := $(if $(filter file,$(origin PYTHON)),$(BIN)/python,$(PYTHON))
VERSION = -c 'import sys; print(sys.version_info[:2])'
SOUND := $(shell test -e .venv/ready && grep -q '^command = .* $(CURDIR)/.venv$$' .venv/pyvenv.cfg && \
  found="`$(BIN)/python $(VERSION) 2>&1`" && test "$$found" = "`$(ASKED) $(VERSION) 2>&1`" && echo yes)
ifneq ($(SOUND),yes)
.PHONY: .venv/ready
endif

.PHONY: all quick tiny test test-fast test-all slow coverage faults bench report figures-pdf api docs record rivals confirmation lint test-library dist lock clean

all: .venv/ready
	@$(RUN)

quick tiny: .venv/ready
	@$(RUN) --configfile config/scales/$@.yaml

# All has everything; test leaves out what needs a browser or a cluster, and long audits; test-fast also what reads a
# finished run or takes long by tests/slow.txt, which `make slow` writes anew.
PYTEST = python -m pytest -n 2 --dist worksteal
test: .venv/ready
	$(PYTEST) -m "not (browser or slurm or long)"

test-fast: .venv/ready
	$(PYTEST) -m "not (browser or slurm or long or run or slow)"

test-all: .venv/ready
	$(PYTEST)

slow: .venv/ready
	$(PYTEST) -m "not (browser or slurm or run)" --durations 0 --durations-min 0.01 -vv | awk '/s (call|setup) / \
	  {sub(/\[.*/, "", $$3); took[$$3] += $$1; cases[$$3] += $$2 == "call"} END {for (test in took) \
	  if (took[test] > 2 || took[test] > 0.6 && took[test] > 0.2 * cases[test]) print test}' | sort > tests/slow.txt

# Which lines no test runs, in reports/coverage.txt. On a full disk coverage itself cannot write.
coverage: .venv/ready
	coverage erase
	coverage run -m pytest -n 2 --dist worksteal -m "not (browser or slurm or long)" -k "not full_disk"
	coverage combine --quiet
	coverage report > reports/coverage.txt

# Small random faults in a folder, and which of them its tests see: make faults FOLDER=src/privrep/privacy SEED=2
faults: .venv/ready
	OPENBLAS_NUM_THREADS=1 python workflow/scripts/plant_faults.py $(FOLDER) $(if $(SEED),--seed $(SEED))

bench: .venv/ready
	python -m pytest bench -v --benchmark-quiet --benchmark-json reports/benchmarks.json
	@python workflow/scripts/plant_faults.py --show

report: all
	snakemake --report reports/workflow.zip

figures-pdf: all
	snakemake -j$(JOBS) figures_pdf

lint: .venv/ready
	ruff check . && ruff format --check . && codespell
	basedpyright  # a minute
	python workflow/scripts/count_lines.py
	numpydoc lint $(DOCUMENTED)
	snakefmt --check Snakefile workflow
	snakemake --lint
	python workflow/scripts/check_chapters.py

PIP = $(BIN)/python -m pip install --quiet --retries 1 --no-deps --no-compile
# setuptools and wheel come first: one dependency of snakemake is source only and is built without isolation.
.venv/ready: requirements.lock pyproject.toml
	@command -v $(PYTHON) > /dev/null || { echo "There is no $(PYTHON); name a Python of 3.11 or later: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("privrep needs Python 3.11 or later; make PYTHON=python3.12")'
	@echo "Setting up .venv: 2 GB of packages by requirements.lock, one to four minutes in which nothing more is said; after a stop the same command begins anew"
	@test "$(SOUND)" = yes && rm -f $@ || rm -rf .venv
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@awk '/^[a-z]/ {keep = /^(setuptools|wheel|packaging)==/} keep' requirements.lock > .venv/build.txt
	@$(PIP) --require-hashes -r .venv/build.txt && $(PIP) --require-hashes --no-build-isolation -r requirements.lock \
	  && $(PIP) --no-build-isolation --editable . || { echo "Packages could not be installed; set-up needs a network" >&2; exit 1; }
	@$(BIN)/python -m compileall -q -q -j 0 -x '/tests/' .venv/lib || true  # on all cores; pip itself would take one
	@touch $@

api: .venv/ready
	python workflow/scripts/build_api.py

docs: all api
	python workflow/scripts/update_docs.py
	python tests/proofs.py

# The scale of record, into results/record: 70 to 100 minutes on two cores, and the same command goes on after a stop.
record: .venv/ready
	@$(RUN) --configfile config/scales/record.yaml
	$(if $(SEED),,python workflow/scripts/update_docs.py --record record)

# Settings of the published methods, chosen on public simulations: two to three hours; goes on where it was stopped, and --anew chooses all again.
rivals: .venv/ready
	python workflow/scripts/choose_rivals.py

# After make all on a clean tree: the same configuration once more, on a seed never used.
confirmation: .venv/ready
	@python workflow/scripts/confirm.py --jobs $(JOBS) $(if $(SEED),--seed $(SEED))

# These three need uv. First the library's tests on one Python and on the lowest or newest packages that pyproject.toml
# allows, in an environment that does not stay: make test-library PYTHON=3.13 RESOLUTION=lowest
RESOLUTION ?= newest
lowest := lowest-direct
newest := highest
UV_RUN = uv run --isolated --no-project --python $(PYTHON)
test-library:
	$(UV_RUN) --resolution $($(RESOLUTION)) --with 'pip>=25' --with-editable '.[data,dask,plot,replication,dev]' \
	  python -m pytest tests/privrep -n 2 --dist worksteal

# A source distribution, and the wheel that is built from it, which answers in an environment of its own.
dist:
	rm -rf dist
	uv build --quiet
	$(UV_RUN) --with "`ls dist/*.whl`" privrep advise --users 5000 --samples 20 --dim 50 --rank 2 --epsilon 1

lock:
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --output-file requirements.lock

clean:
	rm -rf results logs benchmarks .snakemake
	find figures reports -mindepth 1 ! -name .gitkeep -delete
