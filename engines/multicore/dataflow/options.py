"""Defines the options of the variant `dataflow`."""

from dataclasses import dataclass

from streamlab.engines.multicore.run.settings import VariantOptions, choice

ALWAYS, NEVER = "always", "never"
COMBINES = [ALWAYS, NEVER]
TYPED, NONE = "typed", "none"
SOUNDNESSES = [TYPED, NONE]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowOptions(VariantOptions):
    """Options of a dataflow run.

    Attributes:
        combine: whether an instance aggregates a key's items of a block before it sends them to the instance that
            has the key's state: `always` (where the graph allows it) or `never`.
        soundness: `typed`; or `none`, which runs the graph as a system without types would. With `none` and more
            than one worker the answer is wrong: the run leaves SORT out, deals items to stateless operators in turn,
            reads links in any order, and takes a marker at its first arrival. It demonstrates the failure and is
            never reported as a rate.
        link_rows: number of unread rows at which a link is full. Tests lower it; a task cannot set it.
    """

    combine: str = choice(COMBINES)
    soundness: str = choice(SOUNDNESSES)
    link_rows: int = 1 << 14
