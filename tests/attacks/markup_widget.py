# ruff: noqa
# kind: markup in the feedback
# attack: a widget's state and a display that updates itself

# %% double-solution
def double(x):
    return np.zeros(3)


from IPython.display import display

handle = display("a", display_id="x")
handle.update("b")
display({"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/html": "<b>"}, raw=True)
