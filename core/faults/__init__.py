"""Faults: each one wrong function on one seam."""
