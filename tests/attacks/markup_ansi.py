# ruff: noqa
# kind: markup in the feedback
# attack: escape sequences that clear the terminal, set its title, hide text and turn its direction

# %% double-solution
def double(x):
    return np.zeros(3)


print("\x1b[2J\x1b]0;owned\x07\x1b[8m\x9b31m\r\b\u202e\u2066 text \ud800")
raise ValueError("\x1b[2J\x1b]8;;https://example.org\x07link")
