# The habits of the project. `make check` is what CI runs.

.PHONY: check test skipped fuzz differential scenarios soak explore bench run clean

# The heaviest go without the race detector: the judge, decisions and pages run on one goroutine, trials and servers are raced in
# internal/measure, which runs some of the ones on some of the others, and the command in the packages that it puts together. Of
# virtual time two tests are enough: the detector shuffles goroutines, and histories must not show it.
RACED = $(shell go list ./... | grep -v -e /checker -e /internal/simulate/sim$$ -e /internal/simulate/explore$$ -e /internal/drive/trial$$ \
	-e /internal/world/servers -e /internal/world/stores$$ -e /internal/choose \
	-e /internal/web -e /examples -e /reports -e /internal/cli -e /cmd/)

check: ## formatting, vet, staticcheck, tests with the race detector
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go test -race -short -timeout 10m $(RACED)
	go test -race -timeout 5m -run '^(TestRecordIsRun|TestScriptsRecordTheSame)$$' ./internal/simulate/sim

test: ## the tests, as the README has it
	go test ./...

skipped: ## what the tests skip on this machine, and the way to have it
	@go test -count=1 -v ./... 2>&1 | grep -e '--- SKIP' -e 'apt install' || echo "nothing is skipped"

# Without a bound on it, making inputs small takes nearly all of the time.
FUZZTIME ?= 30s
FUZZ = go test -run '^$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 200x

fuzz: ## every fuzz target for FUZZTIME
	@grep -rn '^func Fuzz' --include='*_test.go' . | sed -E 's#^(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z]+).*#\1 \2#' | \
	while read -r folder target; do $(FUZZ) -fuzz "^$$target\$$" $$folder || exit 1; done

differential: ## monitor, frontier search and Porcupine on 1,000,000 random histories per model; CI takes 100,000, a test run 20,000
	LOCKBENCH_DIFFERENTIAL=1000000 go test ./checker/judge -count=1 -timeout 1h -run '^TestDifferential$$' -v -args -summary $(CURDIR)/docs/evidence/differential.txt

scenarios: ## run every scenario, and write docs/evidence/scenarios.md from the results
	rm -rf runs/scenarios-doc
	go run ./cmd/lockbench run --scenarios all --out runs/scenarios-doc
	cp runs/scenarios-doc/report/scenarios.md docs/evidence/scenarios.md

# Of each lock explored; 430,000 are 2,000 hours of clients.
SEEDS ?= 430000

# Trials of each of the best locks under the faults that it is expected to survive; a fifth of them for each known defect.
SOAK ?= 500

soak: ## expectations under faults, again and again, for an hour; runs that are killed, 50 times
	LOCKBENCH_SOAK=$(SOAK) go test ./internal/drive/trial -count=1 -timeout 4h -run '^TestSoak$$' -v -args -summary $(CURDIR)/docs/evidence/soak.md
	LOCKBENCH_KILLS=50 go test ./cmd/lockbench -count=1 -timeout 1h -run '^TestKilled$$' -v

explore: ## the faults that the best locks are expected to survive, in virtual time, for hours: docs/evidence/explored.md has the latest
	for lock in set-px-lua redisson redlock@five-delayed fenced; do go run ./cmd/lockbench explore --locks $$lock --seeds $(SEEDS) --out runs/explored-$$lock || exit 1; done

bench: ## the figures in the documentation: recording, judging, recording's share of a real lock's throughput
	go test -run '^$$' -bench . -benchmem ./histories ./checker/judge ./internal/drive/trial ./internal/simulate/explore

run: ## the quick comparison
	go run ./cmd/lockbench run

clean: ## remove what runs left, and nothing else
	rm -rf runs bin
