# ruff: noqa
# kind: markup in the feedback
# attack: HTML and scripts are displayed

# %% double-solution
def double(x):
    return np.zeros(3)


from IPython.display import HTML, Javascript, Markdown, SVG, IFrame, display

display(
    HTML("<script>alert(1)</script>"),
    Javascript("alert(1)"),
    Markdown("<img src=x onerror=alert(1)>"),
    IFrame("https://example.org", 1, 1),
)
