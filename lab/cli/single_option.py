"""A command that refuses an option given twice, where click would drop the first value unseen."""

import click


class Once(click.Command):
    """Takes each option once, but for those that are declared to be given several times."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: an option comes twice.
        """
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        options = [each for each in given if isinstance(each, click.Option) and not each.multiple]
        twice = next((each for each in options if options.count(each) > 1), None)
        if twice is not None and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{twice.opts[0]} is given {options.count(twice)} times; give it once", ctx
            )
        return super().parse_args(ctx, args)
