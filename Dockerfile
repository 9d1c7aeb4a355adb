# The lab in an image whose default command is the demo. BASE is any Debian-like image with Python 3.11 or
# newer (or one whose apt has it); what it lacks is installed. Build: make image BASE=...
# Trials run in it too (isolate = "container"); the label below says which source it holds.
ARG BASE=docker.io/library/python:3.12-slim
FROM ${BASE}

# make and Graphviz always; a compiler, venv and headers only where the base image lacks them. The man-page
# folder is one that minimal images drop and that some packages' set-up scripts expect.
RUN packages="make graphviz"; \
    command -v c++ > /dev/null || packages="$packages g++"; \
    case "$(command -v python3)" in \
        ""|/usr/bin/python3) packages="$packages python3 python3-venv python3-dev" ;; \
    esac; \
    mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /lab

# The dependencies change rarely: in a layer of their own, which a change of the code does not rebuild.
COPY Makefile pyproject.toml constraints.txt ./
COPY tools tools
RUN make dependencies

COPY . .
RUN make setup && make engine NAME=polars && make engine NAME=duckdb && make engine NAME=csp

# `lab run` compares this label with its own source. The build fails when it would be wrong; without the
# argument the image runs the demo, but no trials.
ARG SOURCE_DIGEST=
RUN [ -z "$SOURCE_DIGEST" ] || { \
        found=$(.venv/bin/python -I lab/isolate/source.py); \
        [ "$found" = "$SOURCE_DIGEST" ] || { echo "SOURCE_DIGEST=$SOURCE_DIGEST, but the source is $found" >&2; exit 1; }; }
LABEL lab.source=$SOURCE_DIGEST

ENV PATH=/lab/.venv/bin:$PATH
CMD ["make", "demo"]
