# Everything a person types.  `make` or `make help` lists it.
.DEFAULT_GOAL := help
VENV    := .venv
PY      := $(VENV)/bin/python
PYTHON  ?= python3

.PHONY: help
help: ## Show this list
	@awk 'BEGIN{FS=":.*## "} /^[a-z-]+:.*## /{printf "  \033[1m%-12s\033[0m %s\n",$$1,$$2}' $(MAKEFILE_LIST)
