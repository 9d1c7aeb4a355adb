"""Runs the command line `lab` and chooses its exit codes.

The modules of this package declare the subcommands. The package `commands` implements them, and is imported on use.
"""

import errno
import os
import re
import sys
from io import StringIO, TextIOWrapper
from typing import Any

import click

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.lab.cli import broker, cluster, data, measure, programs, results
from streamlab.lab.cli.output import drop_output, reader_is_gone
from streamlab.lab.cli.paths import absolute_places
from streamlab.lab.errors import LabError
from streamlab.lab.interrupt import keep_interrupts
from streamlab.results.errors import ResultsError
from streamlab.results.row_conversion import escape_text
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.default_folders import set_cache_variables
from streamlab.workloads.name_suggestions import suggest_names

EXIT_OK = 0
EXIT_BUG = 1
"""Python's own exit code after an unexpected error."""
EXIT_USER_ERROR = 2
EXIT_ENGINE_FAILURE = 3
EXIT_WRONG_OUTPUT = 4
EXIT_GATE = 5
EXIT_INCONCLUSIVE = 6
EXIT_INTERRUPTED = 130
EXIT_CLOSED_PIPE = 141
"""The exit code of a process that SIGPIPE ended."""


class _PipeError(Exception):
    """A pipe has no reader; `__cause__` is the original error, from standard output or from a child's pipe."""


class _LabGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands]  # in the order of declaration

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            remedy = suggest_names(args[0], self.commands, "lab --help")
            raise click.UsageError(f"no command {args[0]!r}; {remedy}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would attribute it to standard output
            raise _PipeError from error


@click.group(cls=_LabGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stream-lab", prog_name="lab")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Benchmark and compare engines for parallel stream processing.

    Exit codes: 0 ok, 2 user error, 3 engine failure, 4 wrong output, 5 gate failed, 6 gate
    inconclusive, 130 interrupted, 141 output pipe closed.
    """
    if os.environ.get("NO_COLOR"):  # no-color.org; Rich reads it itself
        ctx.color = False


for _command in (
    measure.quickstart,
    measure.run,
    results.report,
    results.answer,
    measure.figure,
    results.history,
    results.site,
    results.compare,
    results.exchange_export,
    results.exchange_import,
    measure.gate,
    results.list_things,
    data.data,
    cluster.cluster,
    broker.broker,
    programs.plan,
    programs.explain,
    programs.check,
    programs.new,
    programs.conform,
    programs.environment,
    programs.doctor,
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line and exit with its code."""
    keep_interrupts()
    code = call(sys.argv[1:])
    if code == EXIT_CLOSED_PIPE:
        drop_output()
    sys.exit(code)


def call(arguments: list[str]) -> int:
    """Run the command line in this process and return its exit code.

    Relative paths, in arguments and in environment variables, start at the current folder.
    Characters that the output's encoding lacks are escaped.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    streams = sys.stdout, sys.stderr
    try:
        code = _call(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (BrokenPipeError, _PipeError, SystemExit) as error:
        # If a pipe closes before a command runs, click replaces the streams and exits with 1.
        sys.stdout, sys.stderr = streams
        if reader_is_gone():
            return EXIT_CLOSED_PIPE
        raise (error.__cause__ or error) from None
    return code


def _call(arguments: list[str]) -> int:
    try:
        with absolute_places():
            warning = set_cache_variables()
            if warning is not None:
                click.echo(f"lab: {warning}", err=True)
            code = cli.main(arguments, prog_name="lab", standalone_mode=False)
    except click.ClickException as error:
        message = StringIO()
        error.show(file=message)
        click.echo(_shorten(message.getvalue()), nl=False, err=True)
        return EXIT_USER_ERROR
    except (KeyboardInterrupt, click.Abort):
        click.echo("lab: interrupted", err=True)
        return EXIT_INTERRUPTED
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        click.echo(f"lab: {_shorten(message_of(error))}", err=True)
        return code
    return code if isinstance(code, int) else EXIT_OK


def exit_code_of(error: Exception) -> int | None:
    """Return the exit code of an error; None if it is a bug of the lab."""
    from streamlab.workloads.model.errors import ModelError  # the module's package imports NumPy

    if isinstance(error, EngineCrashError):
        return EXIT_ENGINE_FAILURE
    if isinstance(
        error,
        click.ClickException | LabError | ModelError | DatasetError | EngineError | ResultsError,
    ):
        return EXIT_USER_ERROR
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        return EXIT_USER_ERROR
    if _lacks_folder(error):
        return EXIT_USER_ERROR
    return None


_SPACE_REMEDY = "free space there, or use another disk"
_PLACE_REMEDY = (
    "use another place (--out, --root, LAB_RUNS, LAB_DATA, LAB_CACHE, TMPDIR), "
    "or grant write permission"
)
_REMEDIES = {
    errno.ENOSPC: _SPACE_REMEDY,
    errno.EDQUOT: _SPACE_REMEDY,
    errno.EFBIG: _SPACE_REMEDY,
    errno.EROFS: _PLACE_REMEDY,
    errno.EACCES: _PLACE_REMEDY,
    errno.EPERM: _PLACE_REMEDY,
    errno.ENOTDIR: _PLACE_REMEDY,
    errno.EISDIR: _PLACE_REMEDY,
    errno.EEXIST: _PLACE_REMEDY,
    errno.ELOOP: _PLACE_REMEDY,
    errno.ENAMETOOLONG: _PLACE_REMEDY,
}
"""Remedies for errors of the file system, which can occur anywhere and are not bugs of the lab."""


def _lacks_folder(error: Exception) -> bool:
    """Return whether the current folder was removed, or no folder accepts temporary files.

    Python reports both without a file name.
    """
    return isinstance(error, FileNotFoundError) and error.filename is None


def message_of(error: Exception) -> str:
    """Return the message that `lab` prints for an error."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if _lacks_folder(error):
        return (
            "the current folder was removed, or no folder accepts temporary files: "
            f"{error}; change to an existing folder, and set TMPDIR to a writable one"
        )
    if not isinstance(error, OSError):
        return str(error)
    place = error.filename or "a file that the lab writes"
    return f"{place}: {error.strerror or error}; {_REMEDIES[error.errno or 0]}"


def _shorten(message: str) -> str:
    """Return a message with long values shortened, and without control sequences."""
    text: str = escape_text(message)
    return _LONG.sub(lambda match: f"{match[0][:100]}...{match[0][-100:]}", text)


_LONG = re.compile(r"\S{400,}")
"""Matches values to shorten, which are longer than any usual path."""
