"""The panels around the run: what each one shows, and when it is refreshed."""
