"""Models: what they are made of, how they are loaded, and their forward without a cache."""
