# ruff: noqa
# kind: output
# attack: 20 000 displays

# %% double-solution
def double(x):
    return np.zeros(3)


from IPython.display import display

for number in range(20_000):
    display(number)
