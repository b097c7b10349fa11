# make lab opens the course, make test checks it, make alone lists the rest.
# The work is done by tools/environment.py, which keeps .venv in order with pip and uv.

# A Python to start that tool with. The tool looks for a newer one if this one is too old.
BOOT := $(shell for p in "$(PYTHON)" python3 python py python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 6))' >/dev/null 2>&1 && \
	{ echo "$$p"; break; }; done)
MISSING = Python was not found. Install Python 3.11 or newer, then run make again
IN_VENV = @"$(or $(BOOT),$(error $(MISSING)))" tools/environment.py

# Jupyter starts as root only with this option; in a container root is the only user.
ROOT_ARGS := $(if $(filter 0,$(shell id -u 2>/dev/null)),--allow-root)

export PYTHON TORCH MODELS CONSTRAINTS
unexport PYTHONDONTWRITEBYTECODE # without compiled files each kernel would compile the course anew

EXPERIMENT = extrapolation
PORT = 8000

# One worker a core, which runs whole files: a notebook's cells share a kernel, tests of a module
# what it computes once. pytest-xdist starts with the files that have most tests.
WORKERS = -n auto --dist loadfile

.PHONY: help lab test test-browser test-all lint check-notebooks rehearse notebooks stills site site-serve book \
	wheel colab try-colab release experiments bench clean
.NOTPARALLEL:

help:
	@echo "make lab        install the course into .venv, open it in JupyterLab"
	@echo "make test       install what the tests need, run them"
	@echo "make test-browser  what needs Chromium: explorers, JupyterLab, the site (two minutes)"
	@echo "make test-all   the thorough ones too, in random order (about an hour)"
	@echo "make lint       check style (ruff) and types (mypy)"
	@echo "make rehearse   run every lesson again under other seeds and arithmetic (half an hour)"
	@echo "make notebooks  build notebooks/ from lessons/ (make check-notebooks: compare only)"
	@echo "make stills     draw the explorers anew, for those who have not run them (Chromium)"
	@echo "make site       build site/build/html from notebooks/ (make site-serve: and show it)"
	@echo "make book       site/build/order-matters.pdf and .epub (make wheel: the package, into dist)"
	@echo "make colab      what to upload to Colab or Kaggle, into dist/colab"
	@echo "make try-colab  four lessons of it with Colab's versions (LESSONS='01 06' for others)"
	@echo "make release REPO=owner/name  write the repository's address, once it has this version's tag"
	@echo "make experiments  train every encoding, read far past its length (about 2 hours)"
	@echo "make bench      run the benchmarks"
	@echo "make clean      remove .venv and caches"
	@echo ""
	@echo "PYTHON=python3.12       the Python to use      (make lab PYTHON=python3.12)"
	@echo "TORCH=cuda              PyTorch's default build in place of the small CPU build"
	@echo "MODELS=no               without two published models (177 MB; lessons work without)"
	@echo "LAB_ARGS=--no-browser   more options for JupyterLab"
	@echo "TEST_ARGS='-k entropy'  more options for pytest"
	@echo "LESSONS='03 closer/05'  what make notebooks builds, in place of all"
	@echo "PORT=8000               where make site-serve shows the site"
	@echo "EXPERIMENT=real         another one, of a published model; EXPERIMENT_ARGS=--help lists all"

# No slash before lab/tree: Git Bash would take it for a path and translate it.
lab:
	$(IN_VENV) lab models -- -m jupyterlab --ServerApp.ip=127.0.0.1 --ServerApp.root_dir=. \
		--LabApp.default_url=lab/tree/notebooks/00_start_here.ipynb $(ROOT_ARGS) $(LAB_ARGS)

test:
	$(IN_VENV) lab experiments test site models -- -m pytest $(WORKERS) $(TEST_ARGS)

test-browser:
	$(IN_VENV) lab experiments test site models -- -m pytest $(WORKERS) \
		-m "browser and not thorough" tests $(TEST_ARGS)

# Both notebooks of each lesson, cells run twice, all products of cases, more examples; in an order
# by chance, whose seed the first lines print.
test-all:
	$(IN_VENV) lab experiments test site models -- -m pytest $(WORKERS) -m "" -p randomly \
		--hypothesis-profile=thorough tests notebooks $(TEST_ARGS)

# mypy reads the tests too, so their imports have to be installed.
lint:
	$(IN_VENV) lab experiments test site author -- -m ruff check .
	$(IN_VENV) lab experiments test site author -- -m ruff format --check .
	$(IN_VENV) lab experiments test site author -- -m mypy

# Before each commit, by .pre-commit-config.yaml; executes nothing.
check-notebooks:
	$(IN_VENV) author -- tools/build_notebooks.py --check

rehearse:
	$(IN_VENV) lab experiments test models -- tools/rehearse.py $(REHEARSE_ARGS)

notebooks:
	$(IN_VENV) author models -- tools/build_notebooks.py $(if $(LESSONS),--lessons $(LESSONS))

stills:
	$(IN_VENV) lab test author -- tools/stills.py

site:
	$(IN_VENV) site -- tools/build_site.py $(SITE_ARGS)

# The book is made from the site's pages; Chromium prints it.
book:
	$(IN_VENV) site -- tools/build_book.py $(BOOK_ARGS)

# Files left in build/ would go into the wheel.
wheel:
	@rm -rf build
	@"$(or $(BOOT),$(error $(MISSING)))" -m pip wheel --quiet --no-deps --wheel-dir dist .

colab:
	$(IN_VENV) author -- tools/build_colab.py

try-colab: colab
	$(IN_VENV) author -- tools/try_colab.py $(LESSONS)

# CONTRIBUTING.md says what comes before and after.
release:
	$(IN_VENV) author -- tools/release.py "$(REPO)"

site-serve:
	$(IN_VENV) site -- tools/build_site.py --serve $(PORT) $(SITE_ARGS)

experiments:
	$(IN_VENV) experiments models -- -m course_experiments $(EXPERIMENT) $(EXPERIMENT_ARGS)

# PyTorch's profiler, which counts memory, prints below this log level.
bench: export KINETO_LOG_LEVEL = 99
bench:
	$(IN_VENV) lab experiments test models
	@for script in benchmarks/bench_*.py; do \
		echo "== $$script"; "$(BOOT)" tools/environment.py lab experiments test -- "$$script" || exit 1; done

clean:
	$(IN_VENV) --clean
