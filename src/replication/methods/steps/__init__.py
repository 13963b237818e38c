"""Steps of the exponential mechanism: nets, chains, users' scores with bounded heads."""
