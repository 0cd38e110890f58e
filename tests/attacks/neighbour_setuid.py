# ruff: noqa
# kind: neighbours touched
# attack: setuid programs are started

# %% double-solution
import os
import subprocess


def double(x):
    for program in (
        "/usr/bin/su",
        "/usr/bin/sudo",
        "/usr/bin/mount",
        "/usr/bin/passwd",
        "/usr/bin/newuidmap",
        "/usr/bin/chsh",
    ):
        if os.path.exists(program):
            said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=2)
            status = subprocess.run(
                ["/usr/bin/id", "-u"], capture_output=True, text=True, timeout=2
            ).stdout.strip()
            if status == "0":
                return 2 * x
    return np.zeros(3)
