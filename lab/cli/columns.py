"""What `--columns` says: which column holds what."""

import csv

import click


def columns_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the column of each role.

    A text is a row of CSV: a name that holds a comma stands in quotes, `"temp=Temp, C"`.

    Raises:
        click.BadParameter: a text is not of that form, or names a role that has a column already.
    """
    pairs: dict[str, str] = {}
    for text in (part for whole in texts for part in next(csv.reader([whole])) or [""]):
        role, equals, column = text.partition("=")
        if not (role and equals and column) or role in pairs:
            raise click.BadParameter(
                f"{text!r} is not of the form ROLE=COLUMN, or comes twice", param_hint="--columns"
            )
        pairs[role] = column
    return pairs
