"""Reproduces figures of Viper: communication-layer determinism and scaling (section 4)."""

from streamlab.lab.figures.viper.determinism import FIGURES, facts

__all__ = ["FIGURES", "facts"]
