# ruff: noqa
# kind: output
# attack: outputs that are no outputs, without number

# %% double-solution
def double(x):
    return np.zeros(3)


import sys

server = sys.modules.get("student_room.server")
if server is not None:
    get_ipython().display_pub.publish.__self__.outputs.extend(
        [
            {"output_type": "stream", "name": "stdout", "text": ["x"] * 1000},
            7,
            None,
            {"output_type": "display_data", "data": {"text/plain": {"a": 1}}},
            {"output_type": "error", "ename": 3, "traceback": "x"},
        ]
        * 1000
    )
