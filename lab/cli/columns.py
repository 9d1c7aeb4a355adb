"""What `--columns` says: which column holds what."""

import click


def columns_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the column of each role.

    Raises:
        click.BadParameter: a text is not of that form, or names a role that has a column already.
    """
    pairs: dict[str, str] = {}
    for text in (part for whole in texts for part in whole.split(",")):
        role, equals, column = text.partition("=")
        if not (role and equals and column) or role in pairs:
            raise click.BadParameter(
                f"{text!r} is not of the form ROLE=COLUMN, or comes twice", param_hint="--columns"
            )
        pairs[role] = column
    return pairs
