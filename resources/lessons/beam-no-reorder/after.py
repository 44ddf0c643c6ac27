texts = ["Where is".split(), "Where was".split()]
keys = [list(text) for text in texts]
values = [list(text) for text in texts]


def reorder(parents):
    for beams in (texts, keys, values):
        beams[:] = [list(beams[parent]) for parent in parents]


reorder([1, 0])
told = [text[-1] for text in texts]
attended = [rows[-1] for rows in keys]
