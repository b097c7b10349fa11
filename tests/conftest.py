"""What every test of course_utils shares: shape checks on, no screen, seeds, small helpers."""

import os

import jaxtyping

# From here on wrong shapes and types raise in the parts of course_utils whose functions name
# shapes. The checks cost a fifth of such a part's tests; everywhere they would cost half as much
# again. They must come before the first import of course_utils.
SHAPED = ("attention", "encodings", "measures", "models", "pretrained", "texts")
jaxtyping.install_import_hook([f"course_utils.{part}" for part in SHAPED], "typecheck.checked")

import matplotlib  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

matplotlib.use("Agg")
torch.set_num_threads(1)  # pytest-xdist already gives each core a worker

# The first call of a function also pays for its type checks, so no deadline an example.
slow = [HealthCheck.too_slow]
settings.register_profile("here", deadline=None, max_examples=10, suppress_health_check=slow)
if not os.access(".", os.W_OK):  # a read-only checkout, in which no failed examples can be kept
    settings.register_profile("here", parent=settings.get_profile("here"), database=None)
# make test-all names this one.
settings.register_profile("thorough", parent=settings.get_profile("here"), max_examples=100)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(autouse=True)
def seed():
    """Every test starts from the same random numbers, whatever ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def plain_arguments():
    """Switch jaxtyping's checks off, so that course_utils' own errors can be seen."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def scheme(monkeypatch):
    """A function that makes create() know one more encoding, for the length of a test."""
    from course_utils import encodings

    monkeypatch.setattr(encodings, "_SCHEMES", dict(encodings._SCHEMES))
    return lambda name, maker: encodings.register(name, maker, replace=True)


@pytest.fixture
def figures():
    """Start from matplotlib's defaults and close every figure afterwards."""
    import matplotlib.pyplot as plt

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.use("Agg")
        yield
    plt.close("all")


@pytest.fixture
def shell(monkeypatch):
    """An IPython that takes itself for the one that runs, as in a notebook."""
    from IPython.core.interactiveshell import InteractiveShell

    interactive = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: interactive)
    return interactive


@pytest.fixture
def shown_metadata():
    """The metadata of each bundle in ``shown``."""
    return []


@pytest.fixture
def shown(monkeypatch, shown_metadata):
    """The mime bundles that calls display during a test, in order."""
    import IPython.display

    bundles = []

    def display(bundle, raw, metadata=None):
        assert raw, "a bundle is displayed as it is, not by its repr"
        bundles.append(bundle)
        shown_metadata.append(metadata)

    monkeypatch.setattr(IPython.display, "display", display)
    return bundles


@pytest.fixture(scope="module")
def browser():
    """Chromium; tests that need it are skipped where there is none."""
    from browser import chromium, find_chromium

    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not find_chromium():
        pytest.skip("no Chromium on PATH; ORDER_MATTERS_CHROMIUM can name one")
    with playwright.sync_playwright() as play, chromium(play) as opened:
        yield opened


@pytest.fixture(scope="module")
def jupyterlab(browser, tmp_path_factory):
    """A JupyterLab on an empty folder: the folder, its address and its token."""
    from browser import jupyterlab

    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    private = tmp_path_factory.mktemp("jupyterlab")
    folder = private / "course"
    folder.mkdir()
    with jupyterlab(folder, private) as (address, token):
        yield folder, address, token


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory):
    """The folder of the site as it is built."""
    from site_reader import built_site

    return built_site(tmp_path_factory)


@pytest.fixture(scope="module")
def site(site_folder):
    """The address of the site as it is built."""
    from build_site import served

    with served(site_folder) as address:
        yield address
