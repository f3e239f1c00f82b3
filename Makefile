# Everything sets itself up: its own virtual environment, locked packages, the compiled engine.
# Second runs start at once; see scripts/prepare.py.

PREPARE = scripts/python.sh scripts/prepare.py

.PHONY: help run test bench lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: ## set up, and reproduce the papers (plots and tables in out/papers)
	@$(PREPARE) run
	@.venv/bin/bentpipe papers run --out out/papers

test: ## set up, and run every test and check
	@scripts/python.sh scripts/test.py

bench: ## side by side with ns-2 and ns-3; fails on nothing
	@$(PREPARE) test
	@scripts/peers.sh
	@.venv/bin/python benches/side_by_side.py
	@.venv/bin/python benches/study.py
	@.venv/bin/python benches/emulators.py

lock: ## choose the versions of all Python packages anew
	@$(PREPARE) test
	@.venv/bin/pip install --quiet uv
	@scripts/lock.sh

clean: ## remove all that was made, the environment included
	rm -rf .venv .cache out target .mypy_cache .pytest_cache .ruff_cache
	rm -f python/bentpipe/*.so
	find python scripts tests -name __pycache__ -prune -exec rm -rf {} +
