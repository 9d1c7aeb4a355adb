"""What every run on the native core shares: settings, set-up, what is measured, the answer."""
