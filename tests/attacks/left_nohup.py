# ruff: noqa
# kind: processes left behind
# attack: nohup and subprocesses in the background

# %% double-solution
def double(x):
    return np.zeros(3)


import subprocess

for _ in range(5):
    subprocess.Popen(
        ["nohup", "sleep", "600"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
