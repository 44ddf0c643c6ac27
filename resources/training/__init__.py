"""The small world, its tokenizer, and the scripts that train and measure the shipped model."""
