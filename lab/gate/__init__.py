"""Gates on regressions: two arms, built alike, measured in turn, decided in two stages."""
