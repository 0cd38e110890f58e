# ruff: noqa
# kind: hooks of IPython
# attack: the room's own loop is rewritten to answer every call with what was asked
# mean: 0
# why: mean is answered by the same rewritten loop

# %% double-solution
def double(x):
    return np.zeros(3)


import sys

server = sys.modules.get("student_room.server")
if server is not None:

    def answer(examiner, shell, request, arrays):
        server.wire.send(examiner, {"error": None, "changed": False}, arrays or [np.zeros(3)])

    server._answer = answer
