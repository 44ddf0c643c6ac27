"""The Qt window and the command line of kvscope; everything that computes is in `core`."""

__version__ = "0.1.0"
