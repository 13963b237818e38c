# Everything that a run needs:
#   docker build -t privrep . && docker run --rm -v "$PWD/reports:/privrep/reports" privrep
FROM python:3.12-slim-bookworm
WORKDIR /privrep
ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.lock ./
# setuptools and wheel come first, as in the Makefile.
RUN awk '/^[a-z]/ {keep = /^(setuptools|wheel|packaging)==/} keep' requirements.lock > build.txt \
    && pip install --require-hashes --no-deps -r build.txt \
    && pip install --require-hashes --no-deps --no-build-isolation -r requirements.lock
COPY . ./
RUN pip install --no-deps --no-build-isolation --editable .
CMD ["snakemake", "-j8", "all"]
