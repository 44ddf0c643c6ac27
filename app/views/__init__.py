"""One view per readout: it draws what the readout says and tells what was chosen in it."""
