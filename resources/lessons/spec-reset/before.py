def verify(rows, last, drafts, own_choice):
    n_accept = 0
    while n_accept < len(drafts) and drafts[n_accept] == own_choice[n_accept]:
        n_accept += 1
    n_text = len(rows) + 1 + n_accept
    rows += [last, *drafts]
    if n_accept < len(drafts):
        rows.clear()
    return n_text


rows = "Mia outside . Sam inside . Where is".split()
text_length = verify(rows, "Mia", ["?", ".", "."], ["?", "outside", "."])
fill = len(rows)
next_position = fill
