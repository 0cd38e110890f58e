# ruff: noqa
# kind: hooks of IPython
# attack: the kernel's do_execute is replaced
# stock: safe

# %% double-solution
def double(x):
    return np.zeros(3)


kernel = getattr(get_ipython(), "kernel", None)
if kernel is not None:
    old = kernel.do_execute

    async def do_execute(code, *a, **k):
        return await old("3.0" if "mark(" in code else code, *a, **k)

    kernel.do_execute = do_execute
