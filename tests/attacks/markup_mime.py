# ruff: noqa
# kind: markup in the feedback
# attack: objects that display themselves: as HTML, drawings, widgets, TeX and types of a million letters, under ids of others

# %% double-solution
class R:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {
            "text/html": "<script>1</script>",
            "image/svg+xml": "<svg onload=alert(1)>",
            "application/vnd.jupyter.widget-view+json": {"model_id": "x"},
            "text/plain": "p" * 10,
            "x" * 10**6: "a",
            5: 7,
            "application/json": {"a": [1] * 1000},
            "image/gif": "R0lGOD",
            "text/latex": "$x$",
            "application/javascript": "1",
            "image/png": b"\x89PNG",
        }

    def _ipython_display_(self):
        raise NotImplementedError


class S:
    def _ipython_display_(self):
        from IPython import get_ipython

        get_ipython().display_pub.publish(
            {"text/html": "<b>"}, transient={"display_id": "other"}, update=True
        )
        get_ipython().display_pub.publish({"text/plain": Evil(), "image/png": [1]})


class Evil(str):
    def __len__(self):
        return -(10**9)

    def __str__(self):
        return "z" * 10**7


display(R(), S())
R()


def double(x):
    return np.zeros(3)
