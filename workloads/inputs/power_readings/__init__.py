"""Power readings of plugs: the input of `sensor_interpolation`, `smart_home_prediction`."""
