"""Counts the rides of every station and quarter of an hour, with their mean length."""

import streamlab as lab

rides = lab.csv("rides.csv", ts="started_at", zone="America/New_York")


@lab.window("15 min", key="station", input=rides)
class Rides:
    """A window of one station."""

    count: int
    minutes: float

    def add(self, ride):
        """Add a ride."""
        self.count += 1
        self.minutes += ride.duration / 60

    def result(self):
        """Return the columns of the output."""
        return {"rides": self.count, "mean_minutes": self.minutes / self.count}
