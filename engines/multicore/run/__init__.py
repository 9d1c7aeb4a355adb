"""Holds what all native runs share: settings, set-up, measurements and answers."""
