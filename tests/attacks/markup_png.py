# ruff: noqa
# kind: markup in the feedback
# attack: a picture that ends its tag

# %% double-solution
def double(x):
    return np.zeros(3)


from IPython.display import display

display(
    {
        "image/png": 'iVBORw0KGgo="><script>alert(1)</script>',
        "image/svg+xml": "<svg onload=alert(1)>",
        "text/html": "<script>alert(1)</script>",
    },
    raw=True,
)
