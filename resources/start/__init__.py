"""The run that the window opens with, and what finds and records it."""
