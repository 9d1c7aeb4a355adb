"""The lab's command line, called within a test."""

from streamlab.lab.cli import call


def run_lab(capsys, *arguments):
    """Exit code, lines of standard output, and standard error of one `lab run`."""
    code = call(["run", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err
