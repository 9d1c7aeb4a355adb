"""Selects tests that must share a process, and assigns tests to processes (pytest-xdist)."""

import re

import pytest

SHARED = (
    r"test_figure_command\.py|test_dry_run\.py|runs_of_a_family"
    r"|test_architecture\.py|(?<=conforms\[)multicore-\w+|(?<=conforms_under\[)multicore-\w+"
    r"|lab/cluster/test_\w+"
)


def group_of(nodeid):
    """Return the group of tests that must run one after the other in one process; the test itself if alone.

    Tests of Spark share its start. The kernel counts what it kills for lack of memory on the whole
    machine, so tests that make it kill must not run beside others whose trial is killed; some are
    in containers, and all of those are on one engine. Tests on the same finished figure, stored run
    of several trials, cluster, process of random runs, parsed tree, or kernels of a workload take it
    from one process.
    """
    kills = re.search(r"/isolate/test_(container|own_workload)|test_faults\.py|_kill|_dies", nodeid)
    if kills and "/multicore/" not in nodeid:  # tests of that folder start no trials
        return "kills"
    if "spark" in nodeid.lower():
        return "spark"
    shared = re.search(SHARED, nodeid)
    return shared.group() if shared else nodeid


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of a group in one process; the others go one by one.

    By name, since the process that deals them out knows no more of them. The groups of
    pytest-xdist 3.8 (`--dist loadgroup`) have no effect with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

        def remove_node(self, node):
            """Deal out what a process has left when it ends; return the test that ended it.

            That of pytest-xdist 3.8 also gives away the groups that were done, in which there is
            nothing to report, so that whoever gets one is never given another, and the test that
            ended the process, which would end the next.
            """
            units = self.assigned_work.pop(node)
            left = [
                (group, test)
                for group, tests in units.items()
                for test, done in tests.items()
                if not done
            ]
            for group, test in left[1:]:
                self.workqueue.setdefault(group, {})[test] = False
            if left:
                for other in self.nodes:
                    self._reschedule(other)
            return left[0][1] if left else None

        def _reschedule(self, node):
            """Give a process two tests at least: it begins one when it knows the next."""
            super()._reschedule(node)
            while self.workqueue and not node.shutting_down:
                if self._pending_of(self.assigned_work[node]) >= 2:
                    break
                self._assign_work_unit(node)

    return Grouped(config, log)
