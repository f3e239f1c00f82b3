# Everything sets itself up: system packages, uv, the environment of uv.lock, the compiled engine.
# Second runs start at once; see scripts/set-up.sh.

# The toolchain of rust-toolchain.toml, or the machine's own where rustup does not have that one
# and cannot bring it.
ifneq ($(shell rustc --version >/dev/null 2>&1 || echo missing),)
export RUSTUP_TOOLCHAIN := $(firstword $(shell cd / && rustup default 2>/dev/null))
endif

PYTHON_OF_TESTS = .venv/bin/python
STEPS = fmt ruff ruff-format mypy words deny clippy unit-tests rust-tests doc instructions stubtest python-tests kernel-tests real-time real-time-python alone

.PHONY: help run test check nightly engine proxy deb wheel wheel-windows generated format bench background profile fidelity browser docs docs-check mutants replay-kernel drill-random soak proxy-soak fuzz kills own-wheel lock clean $(STEPS)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 21
	@echo '  make STEP          one step of the tests: $(STEPS)' | fold -s -w 100

run: ## set up, and reproduce the papers (plots and tables in out/papers)
	@scripts/set-up.sh run
	@.venv/bin/bentpipe papers run --out out/papers

test: ## set up, and run every test and check
	@scripts/set-up.sh packages || { echo '0 passed, 1 failed, 0 skipped'; exit 1; }
	@$(PYTHON_OF_TESTS) scripts/test.py

check: ## the quick part of the tests: formatting, lints, types, unit tests
	@scripts/set-up.sh packages
	@$(PYTHON_OF_TESTS) scripts/test.py --check

nightly: engine ## the tests that take long and mostly repeat others; the result goes to docs/nightly.md
	@scripts/system-packages.sh packaging
	@$(PYTHON_OF_TESTS) scripts/test.py --nightly

engine: ## build the extension module of the Python package
	@scripts/set-up.sh test

proxy: ## build the program of `bentpipe proxy`: target/engine/bentpipe-proxy
	@scripts/set-up.sh packages
	@cargo build --locked --profile engine -p proxy

deb: proxy ## build the Debian package of the proxy in out/packages
	@scripts/system-packages.sh packaging
	@scripts/debian.sh target/engine/bentpipe-proxy out/packages

wheel: proxy ## build the wheel that others install, with the proxy in it, in out/packages
	@scripts/wheel.sh target/engine/bentpipe-proxy out/packages

wheel-windows: ## build the wheel for Windows in out/packages, with MinGW
	@scripts/set-up.sh packages
	@scripts/system-packages.sh packaging
	@scripts/wheel-windows.sh out/packages

generated: engine ## write stubs, API reference, man page and the lists of the manual anew
	@$(PYTHON_OF_TESTS) scripts/generated.py

format: ## format Rust and Python
	@scripts/set-up.sh packages
	@cargo fmt --all
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format --quiet .

# The steps that use the extension module.
stubtest python-tests kernel-tests real-time-python alone: engine
$(STEPS):
	@scripts/set-up.sh packages
	@$(PYTHON_OF_TESTS) scripts/test.py $@

bench: engine ## side by side with ns-2, ns-3, other emulators and proxies; fails on nothing
	@scripts/peers.sh
	@$(PYTHON_OF_TESTS) benches/side_by_side.py
	@$(PYTHON_OF_TESTS) benches/study.py
	@$(PYTHON_OF_TESTS) benches/emulators.py
	@$(PYTHON_OF_TESTS) benches/proxy.py
	@$(PYTHON_OF_TESTS) benches/lab.py
	@$(PYTHON_OF_TESTS) benches/beam.py

background: engine ## compare terminals in the background with packets (an hour), table of docs/beam.md
	@$(PYTHON_OF_TESTS) benches/background.py --cases base

profile: engine ## count instructions and cache misses for docs/performance.md (half an hour), or SECTIONS of it
	@$(PYTHON_OF_TESTS) benches/performance.py $(SECTIONS)

mutants: ## mutation tests of congestion, tcp, link and middlebox (hours); the result goes to docs/mutants.md
	@scripts/set-up.sh packages
	@$(PYTHON_OF_TESTS) scripts/mutants.py --write docs/mutants.md

replay-kernel: ## compare controllers with the kernel's C, of Debian's package linux-source
	@cargo run --quiet -p replay --example replay_kernel -- --write docs/kernel-replay.md

drill-random: ## play SCRIPTS (1000) random packetdrill scripts from SEED (1) on the simulated TCP and the kernel
	@cargo run --quiet --locked -p testbed --example drill_random -- --scripts $(or $(SCRIPTS),1000) --seed $(or $(SEED),1)

soak: ## random scenarios for MINUTES (60), checked and as users have it; findings in out/soak
	@scripts/soak.sh $(or $(MINUTES),60) $(SEED)

proxy-soak: ## load the daemon for MINUTES (60), then compare the bytes of CONNECTIONS (100000)
	@PROXY_SOAK_S=$$((60 * $(or $(MINUTES),60))) PROXY_CONNECTIONS=$(or $(CONNECTIONS),100000) PROXY_BURST=10000 \
		cargo test --quiet --release -p proxy --test daemon load:: -- --test-threads=1 --nocapture

fuzz: ## coverage-guided fuzzing of all parsers, each for SECONDS (60)
	@scripts/fuzz.sh $(or $(SECONDS),60)

kills: engine ## end commands by SIGKILL for MINUTES (60), and compare what is left
	@$(PYTHON_OF_TESTS) tests/kills.py --minutes $(or $(MINUTES),60)

own-wheel: engine ## build a wheel with a controller of another crate, and use it (minutes)
	@$(PYTHON_OF_TESTS) tests/own_wheel.py --quick

fidelity: engine ## make the tables of docs/fidelity.md (2.5 hours, on a quiet machine), or those of ROWS (hosts)
	@$(PYTHON_OF_TESTS) benches/fidelity.py $(ROWS)

browser: engine proxy ## compare Chromium with the simulator (15 minutes, on a quiet machine), table of docs/pages.md
	@$(PYTHON_OF_TESTS) benches/browser.py

docs: engine ## build the manual as a site in out/site; a link that leads nowhere is an error
	@$(PYTHON_OF_TESTS) scripts/website.py

docs-check: engine ## links, commands, snippets, figures, widths and axe-core of the whole manual (long)
	@$(PYTHON_OF_TESTS) -m pytest tests/test_docs.py tests/test_examples.py tests/test_website.py tests/test_accessibility.py

lock: ## choose the versions of all Python packages anew
	@scripts/uv.sh lock --upgrade

clean: ## remove all that was made, the environment included
	rm -rf .venv .cache out target .mypy_cache .pytest_cache .ruff_cache
	rm -f python/bentpipe/*.so
	find python scripts tests -name __pycache__ -prune -exec rm -rf {} +
