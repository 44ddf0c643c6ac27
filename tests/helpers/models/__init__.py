"""Models as other people write them, right and wrong; each file is loaded by its path."""
