"""Refuses an option that is given twice; click alone silently drops the first value."""

import click


class SingleOptionCommand(click.Command):
    """A command whose options may be given once only, unless they are declared `multiple`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: an option is given twice.
        """
        _, _, parsed = self.make_parser(ctx).parse_args(list(args))
        options = [each for each in parsed if isinstance(each, click.Option) and not each.multiple]
        twice = next((each for each in options if options.count(each) > 1), None)
        if twice is not None and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{twice.opts[0]} is given {options.count(twice)} times; give it once", ctx
            )
        return super().parse_args(ctx, args)
