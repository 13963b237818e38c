# The packages of a run. The checkout is mounted: its commit is known, and results stay in it and go on after a stop.
#   docker build -t privrep . && docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/privrep" privrep
FROM python:3.11-slim-bookworm
WORKDIR /privrep
# Snakemake asks for the user's name, and one whom `docker run -u` gives by number has none.
ENV HOME=/tmp USER=privrep PYTHONPATH=/privrep/src PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -r /var/lib/apt/lists/* \
    && git config --system safe.directory /privrep
COPY requirements.lock ./
# setuptools and wheel come first, as in the Makefile.
RUN awk '/^[a-z]/ {keep = /^(setuptools|wheel|packaging)==/} keep' requirements.lock > build.txt \
    && pip install --require-hashes --no-deps -r build.txt \
    && pip install --require-hashes --no-deps --no-build-isolation -r requirements.lock
CMD ["python", "workflow/scripts/run_all.py"]
