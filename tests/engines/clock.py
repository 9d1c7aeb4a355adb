"""A clock that stands still until it is read, slept on or told to go on."""


class FakeClock:
    """Reading it takes `read_ns`, so that whoever spins on it gets there."""

    def __init__(self, read_ns=100):
        self.read_ns = read_ns
        self.slept_ns = 0
        self._now_ns = 10**15

    def now(self):
        self._now_ns += self.read_ns
        return self._now_ns

    def sleep(self, seconds):
        self.slept_ns += round(seconds * 1e9)
        self.pass_ns(round(seconds * 1e9))

    def pass_ns(self, duration_ns):
        self._now_ns += duration_ns
