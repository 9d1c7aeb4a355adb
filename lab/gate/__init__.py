"""Gates on regressions: builds two arms alike, measures them in turn, and decides in two stages."""
