"""Writes the lab's text to standard output, and notices when the reader closes the pipe."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TextIO

import click

_reserved: TextIO | None = None


class LabCommand(click.Command):
    """A command whose standard output has only text that `echo` or a console on `stdout()` wrote.

    Commands run programs and import workloads in the lab's process. Text that such code prints would
    make the output of `--json` unreadable, so the text goes to standard error.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with reserve_output():
            return super().invoke(ctx)


class LazyCommand(LabCommand):
    """A command without a body: the function with the command's name in `lab/cli/commands` implements it.

    The function's module is named like the first word of the function. The module is imported only when
    the command runs, so `lab --help` and `lab COMMAND --help` start fast.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Import the implementation and run it."""
        assert self.callback is not None
        name = self.callback.__name__
        with reserve_output():
            module = import_module(f"streamlab.lab.cli.commands.{name.partition('_')[0]}")
            return ctx.invoke(getattr(module, name), **ctx.params)


class SingleOptionCommand(LabCommand):
    """A command whose options may be set only once, unless they are declared `multiple`.

    Without this class, click would silently drop the first value.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: an option is set twice.
        """
        _, _, parsed_options = self.make_parser(ctx).parse_args(list(args))
        options = [
            each for each in parsed_options if isinstance(each, click.Option) and not each.multiple
        ]
        twice = next((each for each in options if options.count(each) > 1), None)
        if twice is not None and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{twice.opts[0]} is set {options.count(twice)} times; set it once", ctx
            )
        return super().parse_args(ctx, args)


def stdout() -> TextIO:
    """Return the stream for the lab's text."""
    return _reserved or sys.stdout


def echo(text: object = "", *, err: bool = False) -> None:
    """Print the lab's text; to standard error if `err`."""
    click.echo(text, file=None if err else stdout(), err=err)


@contextmanager
def reserve_output() -> Iterator[None]:
    """Send text that other code prints in the block to standard error."""
    global _reserved
    if sys.stdout is None:  # closed before the process started
        yield
        return
    before = sys.stdout, _reserved
    _reserved, sys.stdout = stdout(), sys.stderr
    try:
        yield
    finally:
        sys.stdout, _reserved = before


def reader_is_gone() -> bool:
    """Return whether standard output or standard error is a pipe without a reader."""
    for stream in (sys.stdout, sys.stderr):
        try:
            poll = select.poll()
            poll.register(stream.fileno(), 0)  # poll always reports errors
            if any(events & select.POLLERR for _, events in poll.poll(0)):
                return True
        except (AttributeError, OSError, ValueError):  # closed, or no file
            continue
    return False


def drop_output() -> None:
    """Discard buffered output, so that Python does not report a closed pipe at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
