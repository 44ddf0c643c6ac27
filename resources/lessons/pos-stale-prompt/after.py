def generate(prompt, n_steps):
    tokens, offset, offsets = prompt, 0, []
    n_read = len(tokens)
    for _ in range(n_steps):
        offsets.append(offset)
        n_read = len(tokens)
        offset += n_read
        tokens = ["next"]
    return offsets


offsets = generate(["word"] * 7, 5)
prompt_of_one = generate(["word"], 5)
