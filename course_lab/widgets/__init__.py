"""What runs in the kernel with ipywidgets: predictions, and sliders that redraw a picture.

Pictures that can be computed in the browser are drawn there, by ``explorers``.

Everything works with ipywidgets 7.7 and 8, in JupyterLab and on Colab. Without a kernel a
prediction shows its question as text, and sliders show their first picture.
"""

from course_lab.widgets.predictions import Prediction, predict, predict_number
from course_lab.widgets.sliders import control, explore, explorer, log_slider

__all__ = [
    "Prediction",
    "control",
    "explore",
    "explorer",
    "log_slider",
    "predict",
    "predict_number",
]
