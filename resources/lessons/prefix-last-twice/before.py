def new_prompt(rows, prompt):
    n = 0
    while n < min(len(rows), len(prompt)) and rows[n] == prompt[n]:
        n += 1
    to_run = prompt[n:] or prompt[-1:]
    return rows[:n] + to_run, n


prompt = "Mia outside . Sam inside . Where".split()
first, _ = new_prompt([], prompt)
held, position = new_prompt([*first, "is", "Mia"], prompt)
fill = len(held)
tail = held[-2:]
