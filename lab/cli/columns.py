"""Parses the option `--columns`, which maps roles to columns of a file."""

import csv

import click


def columns_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the column of each role, from texts such as `ts=time,key=user`.

    Each text is a row of CSV, so quotes allow commas in a name: `"temp=Temp, C"`.

    Raises:
        click.BadParameter: a part is not ROLE=COLUMN, or a role occurs twice.
    """
    pairs: dict[str, str] = {}
    for part in (part for text in texts for part in next(csv.reader([text])) or [""]):
        role, equals, column = part.partition("=")
        if not (role and equals and column) or role in pairs:
            raise click.BadParameter(
                f"{part!r} is not ROLE=COLUMN, or its role occurs twice", param_hint="--columns"
            )
        pairs[role] = column
    return pairs
