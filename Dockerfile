# The lab in an image whose default command is the demo; compose.yaml runs clusters and a broker from it.
# BASE is any Debian-like image with Python 3.11 or newer (or one whose apt has it); what it lacks is installed.
# Build: make image BASE=... ENGINES=... ARTEFACTS=...
# Trials run in it too (isolate = "container"); the label below says which source it holds.
ARG BASE=docker.io/library/python:3.12-slim

# No packages, so that they come from their registries; `make image ARTEFACTS=FOLDER` puts FOLDER in its place.
FROM scratch AS artefacts
COPY LICENSE /

FROM ${BASE}

# A compiler, venv and headers only where the base image lacks them; if it lacks nothing, nothing is fetched.
# The man-page folder is one that minimal images drop and that some packages' set-up scripts expect.
RUN packages=""; \
    lacks() { command -v "$1" > /dev/null || packages="$packages $2"; }; \
    lacks make make; lacks dot graphviz; lacks c++ g++; \
    case "$(command -v python3)" in \
        ""|/usr/bin/python3) for name in python3 python3-venv python3-dev; do \
            dpkg -s "$name" > /dev/null 2>&1 || packages="$packages $name"; \
        done ;; \
    esac; \
    [ -z "$packages" ] || { mkdir -p /usr/share/man/man1 \
        && apt-get update \
        && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages \
        && rm -rf /var/lib/apt/lists/*; }

WORKDIR /lab

# The dependencies change rarely: in a layer of their own, which a change of the code does not rebuild.
COPY Makefile pyproject.toml constraints.txt ./
COPY tools tools
RUN --mount=type=bind,from=artefacts,target=/artefacts tools/install-from /artefacts make dependencies

# Engines with packages of their own. Java's need a compiler, and those with jars Maven.
# timely needs a base image with cargo.
ARG ENGINES="polars duckdb csp"
RUN packages=""; \
    lacks() { command -v "$1" > /dev/null || packages="$packages $2"; }; \
    for name in $ENGINES; do case "$name" in \
        flink) lacks javac default-jdk-headless ;; \
        kafka|kafka-streams|storm) lacks javac default-jdk-headless; lacks mvn maven ;; \
    esac; done; \
    [ -z "$packages" ] || { apt-get update \
        && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages \
        && rm -rf /var/lib/apt/lists/*; }

COPY . .
RUN make setup
RUN --mount=type=bind,from=artefacts,target=/artefacts \
    for name in $ENGINES; do tools/install-from /artefacts make engine NAME="$name" || exit; done

# `lab run` compares this label with its own source. The build fails when it would be wrong; without the
# argument the image runs the demo, but no trials.
ARG SOURCE_DIGEST=
RUN [ -z "$SOURCE_DIGEST" ] || { \
        found=$(.venv/bin/python -I lab/isolate/source.py); \
        [ "$found" = "$SOURCE_DIGEST" ] || { echo "SOURCE_DIGEST=$SOURCE_DIGEST, but the source is $found" >&2; exit 1; }; }
LABEL lab.source=$SOURCE_DIGEST

ENV PATH=/lab/.venv/bin:$PATH
CMD ["make", "demo"]
