"""The families of the core, each with its random runs."""

from tests.random_runs.families import dataflow, dgs, joins, layers, oplus, ordered

FAMILIES = {
    module.FAMILY.name: module.FAMILY for module in (dgs, oplus, ordered, layers, joins, dataflow)
}
