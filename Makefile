# make figures: every notebook, into figures/ and data/executed/.   make lab: JupyterLab.
# make setup: .venv, in about a minute; each other target does that first.
# make test: the tests that need no other program.   make test-all: all tests, with Debian's programs.
# make systems: the line that installs the programs of brokers and native systems.
# make app: one page to try things on.   make site: gallery, notebooks, documents and API in build/site/, from stored runs.
# make INSTALLER=pip figures: the packages are installed by pip, which takes minutes, where uv cannot be had.
PYTHON ?= python3
INSTALLER ?= $(or $(ROUNDTRIP_INSTALLER),uv)
export ROUNDTRIP_INSTALLER := $(INSTALLER)
BIN := .venv/bin
READY := .venv/ready
UV_LOCK := $(if $(filter uv,$(INSTALLER)),requirements/uv.txt)

.PHONY: setup figures test test-all campaign lab app site systems lint benchmark calibrate reference student slides expected picture gallery certificate lock proto clean

figures: $(READY)
	@$(BIN)/python -P -m bench run --all

setup: $(READY)
	@echo 'Ready. Next: .venv/bin/bench $(if $(wildcard docs/teaching/lab.md),run compare,doctor)'  # students first look at their machine

# Without the marker `slow`: arithmetic, plans, stored runs, checks, each system once, ten notebooks from their reference runs;
# TESTS="FILE ..." for these files only.
test: $(READY)
	@$(BIN)/python -P -m bench prepare
	$(BIN)/python -m pytest -m "not slow" $(TESTS)

# Also all options of all systems, all notebooks from their reference runs, JupyterLab in a browser, the site, hosts in namespaces, notebooks that measure.
# One process more: these tests wait more, those that load the oracle most.
test-all: $(READY)
	@$(BIN)/python -P -m bench prepare
	$(BIN)/python -m pytest -n 6

# Random damage to runs, input, surroundings and processes (docs/trust.md): at most 15 minutes; SEED=2 for other tries,
# SECONDS=2400 for all of them on a busy machine.
campaign: $(READY)
	@$(BIN)/python tests/campaign/campaign.py --seed $(or $(SEED),1) --seconds $(or $(SECONDS),840) --write docs/campaign.json
	@$(BIN)/python docs/write.py expected

# Of students, who do not get the lecturer's documents, it opens their copies; their root is build, for the links to build/docs.
lab: $(READY)
	$(BIN)/jupyter lab $(if $(wildcard docs/teaching/lab.md),notebooks,--ServerApp.root_dir=build --LabApp.default_url=/lab/tree/student)

app: $(READY)
	PYTHONSAFEPATH=1 JUPYTER_PATH=bench/apps/share $(BIN)/python -P -m bench.apps.voila_server notebooks/explore.ipynb --template=lecture \
	  --no-browser --Voila.ip=127.0.0.1 --Voila.auto_token=True

site: $(READY)
	@$(BIN)/python docs/site/build.py

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m lint

# What bench itself costs, as ratios of interleaved runs against bare loops; PARTS="loops native" prints these only.
benchmark: $(READY)
	@$(BIN)/python -m selfcheck $(PARTS)

calibrate: $(READY)
	@$(BIN)/python -P -m bench calibrate

# The committed runs behind `-p source reference`: measured anew on this machine, all or those in NAMES; a run that is not
# accepted (clean revision, A/A ratio, blocks, speed) is measured again. Then the documents that quote them: two minutes.
reference: $(READY)
	@$(BIN)/python -P -m bench reference $(NAMES)
	@$(BIN)/python docs/write.py expected picture
	@$(BIN)/python docs/gallery.py $(filter-out all,$(NAMES))

# Which systems cannot be measured here, and the command that installs their programs.
systems: $(READY)
	@$(BIN)/python -P -m bench list --missing

# For a class (docs/teaching/README.md): copies without answers (LAB=class: those of this lab), slides that need no network.
student: $(READY)
	@$(BIN)/python -P -m bench.apps.teaching student $(if $(LAB),--lab $(LAB))

slides: $(READY)
	@$(BIN)/python -P -m bench.apps.teaching slides $(NAMES)

# The parts of README.md and docs/ that quote measured numbers, and README.md's picture: from the reference runs;
# the certificate takes minutes.
expected: $(READY)
	@$(BIN)/python docs/write.py expected

picture: $(READY)
	@$(BIN)/python docs/write.py picture

# docs/gallery.md and docs/examples: what the stored run of each notebook found.
gallery: $(READY)
	@$(BIN)/python docs/gallery.py

certificate: $(READY)
	@$(BIN)/python docs/write.py certificate

lock: $(READY)
	@$(PIP) --require-hashes -r requirements/uv.txt
	$(LOCK) requirements/uv.in -o requirements/uv.txt
	$(LOCK) pyproject.toml --all-extras --no-strip-extras -o requirements/lab.txt
	$(LOCK) requirements/crossbar.in -o requirements/crossbar.txt
	$(LOCK) services/http_fastapi/requirements.in -o services/http_fastapi/requirements.txt
	$(LOCK) services/http_flask/requirements.in -o services/http_flask/requirements.txt

LOCK := $(BIN)/uv pip compile -c requirements/constraints.in --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --upgrade -q

# The generated code of the gRPC systems' messages, and of the codec protobuf's.
proto: $(READY)
	$(BIN)/python -P -m grpc_tools.protoc -I bench/systems --python_out=bench/systems bench/systems/_grpc_echo.proto
	$(BIN)/python -P -m grpc_tools.protoc -I bench/codecs --python_out=bench/codecs bench/codecs/_messages.proto

PIP := $(BIN)/python -P -m pip install -q --disable-pip-version-check
WITHOUT_UV = echo "uv could not be installed; without it: make INSTALLER=pip $(MAKECMDGOALS)"

# pip installs uv alone, from its one-line lock; uv installs all else, in seconds. It stays in .venv for the router's environment.
$(READY): requirements/lab.txt requirements/uv.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Roundtrip needs Python 3.11 or newer: make PYTHON=python3.12")'
	@$(PYTHON) -c 'import ensurepip' || { echo "Python has no venv: install it (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Setting up .venv with $(INSTALLER) (about $(if $(UV_LOCK),a minute,two minutes), once)"
	@$(PYTHON) -P -m venv $(if $(wildcard $(READY)),,--clear )$(BIN:/bin=)  # a set-up that was interrupted begins again
	@$(if $(UV_LOCK),$(PIP) --require-hashes -r $(UV_LOCK) || { $(WITHOUT_UV); exit 1; })
	@$(BIN)/python -P -c "import sys; sys.path.append('.'); from bench.process.installer import main; sys.exit(main(sys.argv[1:]))" requirements/lab.txt $(UV_LOCK)
	@$(if $(UV_LOCK),$(BIN)/uv pip install -q --offline --python $(BIN)/python,$(PIP)) --no-deps --no-build-isolation -e .
	@$(BIN)/python -P -m compileall -q bench certify  # a process compiles nothing again, even where Python is set to write no bytecode
	@touch $(READY)

clean:
	rm -rf .venv .environments build dist .pytest_cache .mypy_cache .ruff_cache
