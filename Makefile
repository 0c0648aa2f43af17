# Each target but `explorer` needs Python 3.11 or newer and make, nothing else; the first run makes .venv.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?=
# What runs is compiled when it first does, unless Python is told not to; all of it ahead takes longer.
COMPILE := $(if $(PYTHONDONTWRITEBYTECODE),--compile,--no-compile)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(COMPILE)
RELEASE := data/replication
PAGE := dbtool/explorer/page
PACKAGES := $(PAGE)/node_modules/.package-lock.json
# The last that a build writes.
EXPLORER := dbtool/explorer/built/notices.txt
# What needs npm is left out where there is none.
NPM := $(shell command -v npm)
# One more process than cores: tests wait for servers, files and other processes, too.
PARALLEL := --numprocesses $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --maxprocesses 8 --dist worksteal
SPHINX := $(BIN)/sphinx-build --quiet --fail-on-warning --conf-dir docs/website --doctree-dir build/doctrees

.DEFAULT_GOAL := help
.PHONY: help explorer figures docs atlas site tour test test-slow lint wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

explorer: $(EXPLORER) ## build the application of `dbtool explore`; needs Node.js 18 or newer with npm

$(EXPLORER): $(PAGE)/build.mjs $(PACKAGES) $(wildcard $(PAGE)/src/*.* $(PAGE)/src/*/*.*)
	cd $(PAGE) && npm run --silent build

$(PACKAGES): $(PAGE)/package.json $(PAGE)/package-lock.json $(PAGE)/.npmrc
	@command -v npm >/dev/null || { echo "the explorer needs Node.js 18 or newer with npm: install it (on Debian: apt-get install npm), then run make again" >&2; exit 1; }
	cd $(PAGE) && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

figures: $(VENV)/installed ## draw every figure from the data in this repository into figures/
	$(BIN)/dbtool plot all --db $(RELEASE) --out figures

docs: $(VENV)/installed-dev ## write anew what of docs/ follows from schema/, queries/ and data/
	$(BIN)/python docs/figures.py docs/figures.md --db $(RELEASE)
	$(BIN)/python docs/tables.py docs/measured.md --db $(RELEASE)
	$(BIN)/python docs/pictures.py docs/measured.md --db $(RELEASE)
	$(BIN)/python docs/pictures.py docs/scaling.md --db $(RELEASE)
	$(BIN)/python docs/schema_reference.py docs/schema.md
	$(BIN)/python docs/cookbook.py docs/cookbook.md --db $(RELEASE)
	$(BIN)/python docs/notebook.py docs/notebook.ipynb

# FROM has the archives of each source in a folder of its name.
atlas: $(VENV)/installed-dev ## import the public sources from a folder FROM, and write docs/atlas.md anew
	rm -rf build/atlas
	for name in mlperf mlperf-reference opda modded-nanogpt w2v2-batch-size; do \
	    $(BIN)/dbtool import $$name $(FROM)/$$name --db build/atlas || exit 1; done
	$(BIN)/python docs/tables.py docs/atlas.md --db build/atlas
	$(BIN)/python docs/pictures.py docs/atlas.md --db build/atlas

# Anew each time: of pages that did not change Sphinx would not tell the broken links again.
site: $(VENV)/installed-dev ## make the documentation a folder of web pages, build/site, and build/man
	rm -rf build/pages build/doctrees build/site build/man
	$(BIN)/python docs/site_pages.py build/pages
	$(SPHINX) --builder html build/pages build/site
	cp build/site/README.html build/site/index.html
	$(SPHINX) --builder man build/pages build/man

tour: wheel ## take docs/tour.md with the wheel alone, and write what its commands print
	rm -rf build/tour
	$(BIN)/python -m venv build/tour
	build/tour/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(echo dist/*.whl)[train]"
	build/tour/bin/python docs/tour.py docs/tour.md

test: $(VENV)/installed-dev ## run the quick tests
	$(BIN)/python -m pytest $(PARALLEL)

test-slow: $(VENV)/installed-dev ## run every test, the slow ones too
	$(BIN)/python -m pytest $(PARALLEL) -m "slow or not slow" --hypothesis-profile=thorough

lint: $(VENV)/installed-dev $(if $(NPM),$(PACKAGES)) ## check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(if $(NPM),cd $(PAGE) && npm run --silent check,@echo "without npm the explorer's types are not checked" >&2)

wheel: $(VENV)/installed $(if $(NPM),explorer) ## build the wheel into dist/, with the explorer where npm is there
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## remove what the other targets made
	rm -rf $(VENV) $(PAGE)/node_modules dbtool/explorer/built build dist figures .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -c constraints.txt -e '.[cluster,train,dev,docs]'
	@touch $(VENV)/installed $@

# A candidate must run: version managers leave commands on the PATH that only say the version is not there.
$(BIN)/python:
	@for python in $(PYTHON) python3.13 python3.12 python3.11 python3; do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "making $(VENV) with $$python" >&2; \
	        $$python -m venv $(VENV) && exit 0; \
	        rm -rf $(VENV); \
	        echo "$$python could not make $(VENV): install its venv module (on Debian: apt-get install python3-venv), then run make again" >&2; \
	        exit 1; \
	    fi; \
	done; \
	echo "no Python 3.11 or newer found: install one, or name it as in: make test PYTHON=/path/to/python3.12" >&2; \
	exit 1
	@# Those that come with Python 3.11 take half as long again.
	@$(INSTALL) 'pip>=24'
