# The tasks of the project. CI runs `make check`.

.PHONY: check race test skipped adapters manifests libraries matrix fuzz differential scenarios soak explore mutants bench run packages packages-test clean

# The slowest packages are tested without the race detector, and those that take long to compile with it, such as the embedded servers
# and the queue (`make race` tests some of them). The judge, decisions and pages use only one goroutine, package locktest starts what
# other packages test, and the known-broken locks are copies of others with a defect. Two tests of virtual time also run with the
# detector: it changes the order of goroutines, and histories must not depend on the order.
RACED = $(shell go list ./... | grep -v -e /checker -e /impls/broken$$ -e /impls/catalog$$ -e /impls/mongo$$ -e /impls/locktest$$ \
	-e /internal/simulate/sim$$ -e /internal/simulate/explore$$ -e /internal/drive/trial$$ -e /internal/measure -e /internal/mutants$$ \
	-e /internal/world/builtin$$ -e /internal/fleet$$ -e /internal/rules$$ -e /internal/world/servers -e /internal/world/stores$$ -e /internal/choose -e /internal/web -e /examples \
	-e /reports -e /internal/cli -e /cmd/)

check: ## formatting, vet, staticcheck, tests with the race detector
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go test -race -short -timeout 10m $(RACED)
	go test -race -timeout 5m -run '^(TestRecordIsRun|TestScriptsRecordTheSame)$$' ./internal/simulate/sim

# The tests that take longest start first. They mostly wait, so more packages than cores run at once.
SLOW = ./internal/drive/trial ./cmd/lockbench ./examples ./internal/simulate/explore ./internal/world/stores ./impls/catalog ./reports/selection

race: ## the packages that `make check` leaves out because they take long to compile with the race detector
	go test -race -short -timeout 20m ./internal/fleet ./impls/locktest ./impls/mongo ./internal/measure/...

test: ## all tests, without the race detector
	go test -p 3 $(SLOW) ./...

skipped: ## the tests that are skipped on this machine, and what to install
	@go test -count=1 -v ./... 2>&1 | grep -e '--- SKIP' -e 'apt install' || echo "nothing is skipped"

# The number of steps to minimise an input is limited, because minimising would otherwise take nearly all of the time.
FUZZTIME ?= 30s
FUZZ = go test -run '^$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 200x

adapters: ## the worker libraries of Java and Rust and their adapters, whose first build takes minutes
	LOCKBENCH_REQUIRE=maven,javac,cargo go test ./examples -count=1 -run 'Java|Rust|NewWorkers'

manifests: ## check the manifests for Kubernetes with the types of its API, which downloads packages
	cd examples/kubernetes && go test ./...

matrix: ## test the current versions of all libraries, and those with a known defect, for hours; ARGS="--profile full"
	-go run ./cmd/lockbench matrix --versions all $(ARGS)
	cp reports/published/libraries/track-record.md docs/track-record.md

libraries: ## install the versions in impls/libraries, which downloads packages, and start each worker
	LOCKBENCH_LIBRARIES='*/*' go test ./impls/libraries -count=1 -timeout 60m -v -run '^TestInstalled$$'

fuzz: ## every fuzz target for FUZZTIME
	@grep -rn '^func Fuzz' --include='*_test.go' . | sed -E 's#^(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z]+).*#\1 \2#' | \
	while read -r folder target; do $(FUZZ) -fuzz "^$$target\$$" $$folder || exit 1; done

differential: ## monitor, frontier search and Porcupine on 1,000,000 random histories per model; a test run takes 20,000
	LOCKBENCH_DIFFERENTIAL=1000000 go test ./checker/judge -count=1 -timeout 1h -run '^TestDifferential$$' -v -args -summary $(CURDIR)/docs/evidence/differential.txt

scenarios: ## run every scenario and write docs/evidence/scenarios.md
	rm -rf runs/scenarios-doc
	go run ./cmd/lockbench run --scenarios all --out runs/scenarios-doc
	cp runs/scenarios-doc/report/scenarios.md docs/evidence/scenarios.md

# Number of seeds per explored lock. 430,000 seeds give 2,000 hours of client time.
SEEDS ?= 430000

# Number of trials of each combination of lock and fault. Twenty take an hour on two cores, and agents share the work:
# ARGS="--listen nats://127.0.0.1:4222"
SOAK ?= 20

soak: ## repeat trials under all faults with an expectation, and kill 50 runs and 50 agents; ARGS="--locks fenced"
	rm -rf runs/soak
	-go run ./cmd/lockbench run --faults expected --trials $(SOAK) --out runs/soak $(ARGS)
	cp runs/soak/report/rates.md docs/evidence/soak.md
	LOCKBENCH_KILLS=50 go test ./cmd/lockbench -count=1 -timeout 1h -run '^TestKilled(Agents)?$$' -v

explore: ## explore the best locks in virtual time, for hours; docs/evidence/explored.md has the latest results
	for lock in set-px-lua redisson redlock@five-delayed fenced; do go run ./cmd/lockbench explore --locks $$lock --seeds $(SEEDS) --out runs/explored-$$lock || exit 1; done

mutants: ## insert mistakes into correct locks, and measure for hours which are detected; ARGS="--only NAME --stages run,faults"
	go run ./internal/mutants $(ARGS)

bench: ## benchmarks of recording, judging and virtual time
	go test -run '^$$' -bench . -benchmem ./histories ./checker/judge ./internal/drive/trial ./internal/simulate/explore

run: ## the quick comparison
	go run ./cmd/lockbench run

VERSION ?= 0.1.0

packages: ## a Python wheel and an npm package with the program, in dist/, for this platform or GOOS and GOARCH
	rm -rf dist
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X lockbench/internal/cli.packaged=$(VERSION)" -o bin/lockbench ./cmd/lockbench
	python3 internal/packages/build.py $(VERSION) bin/lockbench $$(go env GOOS) $$(go env GOARCH) dist

packages-test: packages ## install both packages into clean folders, and run what was installed
	internal/packages/test

clean: ## remove runs/, bin/ and dist/
	rm -rf runs bin dist
