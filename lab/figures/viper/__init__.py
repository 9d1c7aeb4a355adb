"""The figures of Viper: communication-layer determinism and scaling (section 4)."""

from lab.figures.viper.determinism import FIGURES
from lab.figures.viper.grid import facts

__all__ = ["FIGURES", "facts"]
