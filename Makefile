# make figures: every notebook, into figures/ and data/executed/.   make lab: JupyterLab.
# make test: all tests.   make test-fast: those that take less than a minute, for each save.
# make systems: the libraries of all systems, brokers and frameworks too.   make hosts: what connects other machines.
# make app: one page to try things on.   make site: gallery, notebooks, documents and API in build/site/, from stored runs.
# make INSTALLER=pip figures: the packages are installed by pip, which takes minutes, where uv cannot be had.
PYTHON ?= python3
INSTALLER ?= $(or $(ROUNDTRIP_INSTALLER),uv)
export ROUNDTRIP_INSTALLER := $(INSTALLER)
BIN := .venv/bin
READY := .venv/ready
SYSTEMS_READY := .venv/systems
HOSTS_READY := .venv/hosts
UV_LOCK := $(if $(filter uv,$(INSTALLER)),requirements/uv.txt)

.PHONY: figures test test-fast campaign lab app site systems hosts lint benchmark calibrate reference student slides expected picture certificate lock proto clean

figures: $(READY)
	@$(BIN)/python -P -m bench run --all

test: $(READY)
	@$(BIN)/python -P -m bench prepare
	$(BIN)/python -m pytest

FAST := tests/analysis tests/child/test_timed_loops.py tests/plan/test_parameters.py tests/plan/test_plan.py tests/run \
  tests/stats tests/systems/test_contract.py tests/apps/test_cards.py tests/test_layout.py tests/test_rooms.py

# Arithmetic, plans, stored runs, the layout; of the systems loopback and sockets only.
test-fast: $(READY)
	$(BIN)/python -m pytest $(FAST) -k "(not test_contract or loopback or sockets) and not by_a_real_run"

# Random damage to runs, input, surroundings and processes (docs/trust.md): at most 15 minutes; SEED=2 for other tries,
# SECONDS=2400 for all of them on a busy machine.
campaign: $(READY)
	@$(BIN)/python tests/campaign/campaign.py --seed $(or $(SEED),1) --seconds $(or $(SECONDS),840) --write docs/campaign.json
	@$(BIN)/python -P -m bench.apps.documents expected

lab: $(READY)
	$(BIN)/jupyter lab notebooks

app: $(READY)
	PYTHONSAFEPATH=1 JUPYTER_PATH=bench/apps/exploring/share $(BIN)/voila notebooks/explore.ipynb --template=lecture --no-browser --Voila.ip=127.0.0.1

site: $(READY)
	@$(BIN)/python docs/site/build.py

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m lint

benchmark: $(READY)
	@$(BIN)/python -m benchmarks $(PARTS)

calibrate: $(READY)
	@$(BIN)/python -P -m bench calibrate

REFERENCE := overview:0.6 $(addsuffix :0.25,explore latency throughput placement clients wamp compare noise) \
  messages streaming tls connections:0.2 retries keepalive openload:0.6 calibration:0.6 capacity:0.5 nodelay:0.2 \
  scaleup:0.25 mystery:0.25 origins:0.5 marginal fanin languages network

# The committed runs behind `-p source reference`: measured anew on this machine.
reference: $(READY)
	for each in $(REFERENCE); do \
	  case $$each in *:*) more="-p window_s $${each#*:}";; *) more="";; esac; \
	  case $$each in overview:*) more="$$more -p two_clients true";; esac; \
	  $(BIN)/python -P -m bench run $${each%:*} $$more && \
	  $(BIN)/python -P -m bench keep $${each%:*} data/reference/$${each%:*} || exit 1; \
	done
	$(MAKE) expected picture certificate

# The libraries of the systems that the default installation leaves out; then the line that installs their programs.
systems: $(SYSTEMS_READY)
	@$(BIN)/python -P -m bench list --missing

# What load generators and servers on other machines need (docs/hosts.md).
hosts: $(HOSTS_READY)

# For a class (docs/teaching.md): copies without answers, slides that need no network.
student: $(READY)
	@$(BIN)/python -P -m bench.apps.teaching student

slides: $(READY)
	@$(BIN)/python -P -m bench.apps.teaching slides

# The parts of README.md and docs/ that quote measured numbers, and README.md's picture: from the reference runs;
# the certificate takes minutes.
expected: $(READY)
	@$(BIN)/python -P -m bench.apps.teaching expected
	@$(BIN)/python -P -m bench.apps.documents expected

picture: $(READY)
	@$(BIN)/python -P -m bench.apps.documents picture

certificate: $(READY)
	@$(BIN)/python -P -m bench.apps.documents certificate

lock: $(READY)
	@$(PIP) --require-hashes -r requirements/uv.txt
	$(LOCK) requirements/uv.in -o requirements/uv.txt
	$(LOCK) pyproject.toml --extra dev --no-strip-extras -o requirements/lab.txt
	$(LOCK) pyproject.toml --extra all --no-strip-extras -c requirements/lab.txt -o requirements/systems.txt
	$(LOCK) pyproject.toml --extra hosts --no-strip-extras -c requirements/lab.txt -o requirements/hosts.txt
	$(LOCK) requirements/crossbar.in -o requirements/crossbar.txt

LOCK := $(BIN)/uv pip compile -c requirements/constraints.in --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --upgrade -q

# The generated code of the gRPC systems' messages, and of the codec protobuf's.
proto: $(READY)
	$(BIN)/python -P -m grpc_tools.protoc -I bench/systems --python_out=bench/systems bench/systems/_grpc_echo.proto bench/systems/_tokens.proto
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
	@$(BIN)/python -P -c "import sys; sys.path.append('.'); from bench.installer import main; sys.exit(main(sys.argv[1:]))" requirements/lab.txt $(UV_LOCK) \
	  $(if $(wildcard $(SYSTEMS_READY)),requirements/systems.txt) $(if $(wildcard $(HOSTS_READY)),requirements/hosts.txt)
	@$(if $(UV_LOCK),$(BIN)/uv pip install -q --offline --python $(BIN)/python,$(PIP)) --no-deps --no-build-isolation -e .
	@$(BIN)/python -P -m compileall -q bench  # a process compiles nothing again, even where Python is set to write no bytecode
	@touch $(READY)

$(SYSTEMS_READY): $(READY) requirements/systems.txt
	@echo "Adding the libraries of all systems to .venv"
	@$(BIN)/python -P -m bench.installer --add requirements/systems.txt
	@touch $(SYSTEMS_READY)

$(HOSTS_READY): $(READY) requirements/hosts.txt
	@echo "Adding Dask distributed to .venv"
	@$(BIN)/python -P -m bench.installer --add requirements/hosts.txt
	@touch $(HOSTS_READY)

clean:
	rm -rf .venv .environments build dist .pytest_cache .mypy_cache .ruff_cache
