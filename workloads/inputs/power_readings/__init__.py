"""Input of `sensor_interpolation` and `smart_home_prediction`: power readings of plugs."""
