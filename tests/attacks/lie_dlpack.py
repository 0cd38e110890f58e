# ruff: noqa
# kind: objects that lie
# attack: __dlpack__, __array_struct__ and __cuda_array_interface__ point to nowhere

# %% double-solution
class Pointer:
    def __dlpack__(self, *a, **k):
        return object()

    def __dlpack_device__(self):
        return (1, 0)

    @property
    def __array_struct__(self):
        import ctypes

        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(8, None, None)

    __cuda_array_interface__ = {"shape": (5,), "typestr": "<f8", "data": (1, False), "version": 3}


def double(x):
    return Pointer()
