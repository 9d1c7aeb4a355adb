"""Compiles the Rust program, with the crates of its lock, into the engine's environment."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

from streamlab.engines.environment import Environment, folder, run_program
from streamlab.engines.errors import EngineError

RUST = Path(__file__).parent / "rust"
LOCK = RUST / "Cargo.lock"
PROGRAM = "streamlab-timely"
_PROGRAM_VARIABLES = ("CARGO_BUILD_TARGET", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS")
"""Variables for a user's other builds; they are removed, so that all machines measure the same program."""
COMPILER = "rustc.txt"
"""The file of an environment with the version of the compiler."""


def find_cargo() -> str:
    """Return the path of cargo: on PATH, or where rustup installs it.

    Raises:
        EngineError: cargo was not found; the message has the command that installs it.
    """
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(home / "bin"))
    if cargo is None:
        raise EngineError(
            "engine timely needs cargo to compile its program, and found none on PATH or in "
            f"{home / 'bin'}; install Rust 1.86 or newer first, with rustup (rustup default stable)"
        )
    return cargo


def compile_program(folder: Path) -> None:
    """Compile the program into an environment; this needs no network if cargo already has all crates.

    Raises:
        EngineError: no cargo was found, a crate is not available, or the compiler rejects the program.
    """
    cargo = find_cargo()
    target = folder / "target"
    # cargo finds rustc by its name; rustup installs both in one folder.
    path = os.pathsep.join([str(Path(cargo).parent), os.environ.get("PATH", "")])
    variables = {**os.environ, "PATH": path}
    for name in _PROGRAM_VARIABLES:
        variables.pop(name, None)
    command = [
        *(cargo, "build", "--release", "--locked", "--quiet", "--bin", PROGRAM),
        *("--manifest-path", str(RUST / "Cargo.toml"), "--target-dir", str(target)),
    ]
    failure = run_program(command, variables)
    if failure is not None:
        raise EngineError(
            f"{cargo} cannot build the program of engine timely: {failure}; check that the crate "
            "registry is reachable and that Rust is as new as engines/timely/rust/Cargo.toml says "
            "(rustup update)"
        )
    (target / "release" / PROGRAM).rename(folder / PROGRAM)
    shutil.rmtree(target)
    version = subprocess.run(
        ["rustc", "--version"], capture_output=True, text=True, check=True, env=variables
    )
    (folder / COMPILER).write_text(" ".join(version.stdout.split()[:2]), encoding="utf-8")


def version() -> str:
    """Return the versions of Timely Dataflow and, once the environment exists, of the compiler."""
    packages = tomllib.loads(LOCK.read_text(encoding="utf-8"))["package"]
    (timely,) = (package["version"] for package in packages if package["name"] == "timely")
    compiler = folder("timely") / COMPILER
    compiled_by = [compiler.read_text(encoding="utf-8")] if compiler.exists() else []
    return ", ".join([f"timely {timely}", *compiled_by])


ENVIRONMENT = Environment(
    lock=LOCK,
    inputs=(RUST / "Cargo.toml", *sorted((RUST / "src").glob("[!.]*.rs")), Path(__file__)),
    installs=False,
    build=compile_program,
    check=find_cargo,
)
