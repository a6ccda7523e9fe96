# Every target needs Go alone, but conformance, which also needs npm.
GO ?= go
TESTFLAGS ?=

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

build: ## build bin/writ, stripped
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -o bin/writ ./cmd/writ

test: ## run every test that needs Go alone
	$(GO) test $(TESTFLAGS) ./...

race: ## the same with the race detector
	$(MAKE) test TESTFLAGS=-race

lint: ## vet for three systems and staticcheck
	GOOS=linux $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.7.0 ./...

generate: ## write the generated files again (JSON Schemas and reference pages)
	$(GO) generate ./...

generated: generate ## fail when a generated file is not up to date
	git diff --exit-code -- schema docs

bench: ## print every figure as a ratio to a floor of the same run
	$(GO) run ./bench

fuzz: ## fuzz every decoder for a minute each
	./fuzz.sh 60s

conformance: ## real clients: MCP TypeScript SDKs, Inspector, conformance suite (npm)
	./conformance/run

check: race lint generated ## what CI checks, but real clients

.PHONY: help build test race lint generate generated bench fuzz conformance check
