"""Prints the simulated error rates that docs/method.md quotes (about ten minutes).

Run as a script: `python tests/lab/runner/search/figures.py [steady] [sustained] [search]`.
"""

import sys

import numpy as np
from engine import Synthetic, searched
from trials import Queue, correlated, simulate

from streamlab.lab.matrix.load_table import SearchSettings
from streamlab.lab.measure.steady import UNSTEADY, steady_state


def steady(series=1000):
    print("| points | CV | autocorrelation | unsteady |")
    for n in (20, 60, 300):
        for sd, correlation in ((0.02, 0.0), (0.02, 0.5), (0.02, 0.8), (0.04, 0.0), (0.04, 0.5)):
            print(
                f"| {n} | {sd:.0%} | {correlation} | {_unsteady(n, sd, correlation, series):.1%} |"
            )
    print("| shape | 20 | 60 | 300 points |")
    for name, shape in {
        "ramp of 5 %": lambda t: 0.05 * t,
        "ramp of 10 %": lambda t: 0.1 * t,
        "ramp of 20 %": lambda t: 0.2 * t,
        "step of 5 % after 70 %": lambda t: 0.05 * (t > 0.7),
        "step of 10 % after 70 %": lambda t: 0.1 * (t > 0.7),
        "5 swings of 5 %": lambda t: 0.05 * np.sin(10 * np.pi * t),
        "5 swings of 10 %": lambda t: 0.1 * np.sin(10 * np.pi * t),
    }.items():
        found = [_unsteady(n, 0.02, 0.0, series, shape) for n in (20, 60, 300)]
        print(f"| {name} | " + " | ".join(f"{share:.0%}" for share in found) + " |", flush=True)


def _unsteady(n, sd, correlation, series, shape=lambda t: 0 * t):
    rng = np.random.default_rng(1)
    t = np.arange(n) / n
    made = (1 + shape(t) + correlated(rng, n, sd, correlation) for _ in range(series))
    return sum(steady_state(values).verdict == UNSTEADY for values in made) / series


def sustained(trials=100):
    print("| window | arrivals | utilisation | sustained | upper bound below 10 % |")
    for window_s, warm_up_s in ((60, 10), (3, 1)):
        for poisson in (False, True):
            for utilisation in (0.5, 0.9, 0.95, 0.98, 0.99, 1.0, 1.002, 1.005, 1.01, 1.02, 1.05):
                rng = np.random.default_rng(2)
                queue = Queue(utilisation=utilisation, rate_eps=5_000.0, poisson=poisson)
                found = [
                    simulate(queue, rng, window_s=window_s, warm_up_s=warm_up_s).judged()
                    for _ in range(trials)
                ]
                passed = sum(judged.sustained for judged in found) / trials
                literal = sum(judged.columns["latency_slope"] < 0.1 for judged in found) / trials
                print(
                    f"| {window_s} s | {'Poisson' if poisson else 'constant'} | {utilisation:.1%} "
                    f"| {passed:.0%} | {literal:.0%} |",
                    flush=True,
                )


def search(searches=1000):
    settings = SearchSettings(levels=())
    print("| spread | lapses | by majority | contains | open | width | r_pass error | trials |")
    for spread, lapse in (
        (0.0, 0.0),
        (0.0, 0.02),
        (0.005, 0.0),
        (0.01, 0.0),
        (0.01, 0.02),
        (0.02, 0.0),
        (0.02, 0.05),
    ):
        rng = np.random.default_rng(3)
        inside, votes_only, open_ended, widths, errors, trials = 0, 0, 0, [], [], []
        for _ in range(searches):
            capacity = 10 ** rng.uniform(4, 7)
            engine = Synthetic(capacity_eps=capacity, spread=spread, lapse=lapse)
            state, votes = searched(engine, settings, rng)
            found = state.bracket
            trials.append(len(votes))
            errors.append(found.r_pass_eps / capacity - 1)
            majority = min(
                p.rate_eps
                for p in state.probes
                if p.outcome == "fail" and p.purpose in ("double", "bisect")
            )
            votes_only += found.r_pass_eps <= capacity <= majority
            if found.r_fail_eps is None:
                open_ended += 1
                continue
            inside += found.r_pass_eps <= capacity <= found.r_fail_eps
            widths.append(found.r_fail_eps / found.r_pass_eps - 1)
        low, median, high = np.quantile(errors, (0.05, 0.5, 0.95))
        print(
            f"| {spread:.1%} | {lapse:.0%} | {votes_only / searches:.1%} | "
            f"{inside / searches:.1%} | {open_ended / searches:.1%} | {np.median(widths):.1%}, "
            f"{np.quantile(widths, 0.95):.1%} | {low:+.1%} {median:+.1%} {high:+.1%} | "
            f"{np.median(trials):.0f}, {np.quantile(trials, 0.95):.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    for name in sys.argv[1:] or ["steady", "sustained", "search"]:
        {"steady": steady, "sustained": sustained, "search": search}[name]()
