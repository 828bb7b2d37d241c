# Whylet's build, tests and checks. `make help` lists the targets.
#
# All of them work on a fresh clone on Debian or Ubuntu, as root.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

GO ?= go
BIN := bin
# Where the system's Go is too old, tools/deps puts the right one here.
export PATH := $(CURDIR)/$(BIN)/go/bin:$(PATH)
PEER := $(BIN)/peer
LIBEXEC := $(BIN)/libexec
DATA_DIR ?= /var/lib/whylet

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# The version that the API server reports; clients parse it.
KUBERNETES := $(shell awk '$$1 == "k8s.io/kubernetes" {print $$2}' go.mod)
KUBERNETES_MINOR := $(word 2,$(subst ., ,$(KUBERNETES)))
CONTAINERD := $(patsubst v%,%,$(shell awk '$$1 == "github.com/containerd/containerd/v2" {print $$2}' go.mod))
RUNC := $(shell awk '$$1 == "github.com/opencontainers/runc" {print $$2}' go.mod)

# The same for everything that is built, tested and checked here, so that no package
# is compiled twice: Kubernetes takes minutes. -trimpath makes builds the same in every
# folder; debug information would be stripped at the end anyway. runc alone is
# linked with C.
export CGO_ENABLED := 0
export GOFLAGS := -buildvcs=false -trimpath -gcflags=all=-dwarf=false
LDFLAGS := -s -w \
	-X main.version=$(VERSION) \
	-X main.runcVersion=$(RUNC) \
	-X k8s.io/component-base/version.gitVersion=$(KUBERNETES) \
	-X k8s.io/component-base/version.gitMajor=1 \
	-X k8s.io/component-base/version.gitMinor=$(KUBERNETES_MINOR) \
	-X github.com/containerd/containerd/v2/version.Version=$(CONTAINERD)
# no_btrfs: the btrfs snapshotter needs headers that few have, and nobody its pods.
TAGS := no_btrfs

.PHONY: env
env: ## Print the flags of every build here, for commands by hand
	@echo "export CGO_ENABLED=$(CGO_ENABLED) GOFLAGS='$(GOFLAGS)'"

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Building

.PHONY: deps
deps: ## Install what the system lacks (apt-get; needs root only when something is missing)
	@./tools/deps

# What only tests need. Ubuntu has it as a snap only: there the page's tests skip, and say so.
.PHONY: chromium
chromium: deps
	@./tools/deps chromium || echo "no chromium: the tests of the timeline page skip" >&2

.PHONY: build
build: deps ## Build bin/whylet, bin/kubectl-why, bin/kubectl and their helper programs
	@$(MAKE) --no-print-directory binaries

# runc needs C for seccomp and for its namespaces; netgo and osusergo keep C out of
# what it shares with the others. It comes first: the others' last link is the longest.
.PHONY: binaries
binaries: runc
	@./tools/gobuild -tags=$(TAGS) -ldflags="$(LDFLAGS)" $(HELPERS) $(BIN)/whylet=./cmd/whylet $(BIN)/kubectl-why=./cmd/kubectl-why
	ln -sfn whylet $(BIN)/kubectl
	ln -sfn kubectl-why $(BIN)/kubectl_complete-why
	echo "built $(BIN)/whylet $(VERSION) with Kubernetes $(KUBERNETES)"

.PHONY: runc
runc:
	@CGO_ENABLED=1 ./tools/gobuild -tags=seccomp,netgo,osusergo,runc_nocriu,urfave_cli_no_docs \
		-ldflags="-s -w -extldflags=-static" $(LIBEXEC)/runc=github.com/opencontainers/runc
	if [ ! -e $(LIBEXEC)/pause ] || [ cluster/runtime/pause/pause.c -nt $(LIBEXEC)/pause ]; then
		$${CC:-gcc} -Os -static -s -Wall -Wextra -Werror -o $(LIBEXEC)/pause cluster/runtime/pause/pause.c
	fi
	./tools/nft $(LIBEXEC)

# The programs that the container runtime starts beside runc and pause: the shim, one a
# pod, and therefore small; the CNI plugin. And those that images are made of: whylet-mesh
# for the mesh's containers, demo for those of whylet demo.
HELPERS := \
	$(LIBEXEC)/containerd-shim-runc-v2=./cluster/runtime/shim \
	$(LIBEXEC)/containerd-shim-join=./cluster/runtime/shim/join \
	$(LIBEXEC)/whylet-mesh=./cmd/whylet-mesh \
	$(LIBEXEC)/demo=./demo/actor \
	$(LIBEXEC)/cni/podnet=./cluster/runtime/podnet
.PHONY: libexec
libexec: runc
	@./tools/gobuild -tags=$(TAGS) -ldflags="$(LDFLAGS)" $(HELPERS)

.PHONY: observe
observe: ## Build bin/whylet-observe, which explains pods beside somebody else's kubelet
	@./tools/gobuild -tags=$(TAGS) -ldflags="$(LDFLAGS)" $(BIN)/whylet-observe=./cmd/whylet-observe

# Only this architecture's own, quickly: make image ARCHES=amd64.
ARCHES ?= amd64 arm64
REGISTRY ?= whylet.dev
IMAGES ?= observe front
.PHONY: image
image: ## Make bin/oci/whylet-observe.tar and whylet-front.tar, images for amd64 and arm64, without a registry
	@for arch in $(ARCHES); do
		GOARCH=$$arch ./tools/gobuild -tags=$(TAGS) -ldflags="$(LDFLAGS)" \
			$(foreach p,$(IMAGES),$(BIN)/oci/$$arch/whylet-$(p)=./cmd/whylet-$(p))
	done
	for name in $(IMAGES); do
		at=/whylet-$$name; [ $$name != mesh ] || at=/whylet # as whylet mesh image has it
		$(GO) run ./deploy/image -out $(BIN)/oci/whylet-$$name.tar -tag $(REGISTRY)/$$name:$(VERSION) -version $(VERSION) -at $$at \
			$(foreach a,$(ARCHES),$(a)=$(BIN)/oci/$(a)/whylet-$$name)
	done
	ls -l $(BIN)/oci

# make cross CROSS=arm64: the same for another architecture, in bin/arm64.
.PHONY: cross
cross: deps
	@environment=$$(./tools/cross $(CROSS) $(BIN)/$(CROSS)/root)
	eval "$$environment"
	$(MAKE) --no-print-directory binaries BIN=$(BIN)/$(CROSS)

# Of this machine's architecture, quickly; a release has both: make bundle NODES="amd64 arm64".
NODES ?= $$($(GO) env GOARCH)
.PHONY: bundle
bundle: build ## Make bin/dist/whylet-ARCH, a whylet with its helpers in it, and bin/oci/whylet-node.tar, the image of a node
	@mkdir -p $(BIN)/dist
	node=()
	for arch in $(NODES); do
		built=$(BIN)
		if [ $$arch != $$($(GO) env GOARCH) ]; then
			built=$(BIN)/$$arch
			$(MAKE) --no-print-directory cross CROSS=$$arch
		fi
		$(GO) run ./deploy/bundle -out $(BIN)/dist/whylet-$$arch $$built/whylet $$built/libexec
		GOARCH=$$arch ./tools/gobuild -tags=$(TAGS) -ldflags="$(LDFLAGS)" $(BIN)/oci/$$arch/whylet-init=./cmd/whylet-init
		node+=($$arch=$(BIN)/dist/whylet-$$arch,$(BIN)/oci/$$arch/whylet-init)
	done
	$(GO) run ./deploy/image -node -out $(BIN)/oci/whylet-node.tar -tag $(REGISTRY)/node:$(VERSION) -version $(VERSION) "$${node[@]}"

PLUGINS := github.com/containernetworking/plugins/plugins
.PHONY: reference-plugins
reference-plugins: deps
	@./tools/gobuild -ldflags="-s -w" $(foreach p,main/bridge main/loopback ipam/host-local meta/portmap,$(PEER)/cni/$(notdir $(p))=$(PLUGINS)/$(p))

# The real stack that tests compare with, from the same modules as ours. Most of it
# is compiled already after `make build`; what is left is linking.
.PHONY: peer
peer: deps reference-plugins ## Build the real kubelet, control plane and containerd to compare with
	@./tools/gobuild -tags=$(TAGS) -ldflags="$(LDFLAGS)" $(PEER)/etcd=./test/peer/etcd $(PEER)/services=./test/peer/services \
		$(foreach p,kube-apiserver kube-controller-manager kube-scheduler kubelet,$(PEER)/$(p)=k8s.io/kubernetes/cmd/$(p)) \
		$(foreach p,containerd containerd-shim-runc-v2 ctr,$(PEER)/$(p)=github.com/containerd/containerd/v2/cmd/$(p))

# kubectl is typed on other machines than nodes: the same client for all of them. CI
# builds them in a job of its own, as client-go compiles once for each.
CLIENTS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64 windows-arm64
.PHONY: client
client: deps ## Build bin/client/kubectl-why-OS-ARCH for Linux, macOS and Windows
	@mkdir -p $(BIN)/client
	for target in $(CLIENTS); do
		os=$${target%-*} arch=$${target#*-}
		out=$(BIN)/client/kubectl-why-$$target; [ $$os != windows ] || out=$$out.exe
		GOOS=$$os GOARCH=$$arch $(GO) build -tags $(TAGS) -ldflags "$(LDFLAGS)" -o $$out ./cmd/kubectl-why
	done
	ls -l $(BIN)/client

.PHONY: vet-client
vet-client: deps ## Check that the client builds on systems that this is not
	@cd tools && $(GO) run ./foreign $(filter-out linux-amd64,$(CLIENTS)) -- ./cmd/kubectl-why

.PHONY: images
images: ## Make the images that tests and examples use, from Debian packages
	@$(GO) run ./test/images -out $(BIN)/images

# The timeline page's script and style are in the repository, so that nobody has to.
.PHONY: web
web: deps ## Check the types of the timeline page and bundle it anew, after a change in web/app
	@$(GO) tool -modfile=tools/typescript.mod tsgo -p web/app # minutes the first time: TypeScript's own compiler
	$(GO) run ./web/bundle web

.PHONY: screenshots
screenshots: deps ## Take the pictures of the timeline page anew, for docs/timeline.md and its tests (needs chromium)
	@$(GO) test ./web/browser -count=1 -run '^(TestLooks|TestOverview|TestPictures)$$' -rewrite

# A helper program is looked for in libexec/ beside the binary that runs, so all of
# it is in a directory of its own, and bin/ has links into that.
PREFIX ?= /usr/local
LIB = $(PREFIX)/lib/whylet
.PHONY: install
install: build ## Install below PREFIX (/usr/local); DESTDIR for packages. whylet service install starts it at boot
	@install -d $(DESTDIR)$(LIB)/libexec/cni $(DESTDIR)$(PREFIX)/bin
	install -m 0755 $(BIN)/whylet $(BIN)/kubectl-why $(DESTDIR)$(LIB)
	find $(LIBEXEC) -maxdepth 1 -type f -exec install -m 0755 -t $(DESTDIR)$(LIB)/libexec {} +
	find $(LIBEXEC)/cni -type f -exec install -m 0755 -t $(DESTDIR)$(LIB)/libexec/cni {} +
	find $(LIBEXEC)/nft.d -type f -exec install -m 0755 -t $(DESTDIR)$(LIB)/libexec/nft.d {} +
	ln -sfn $(LIB)/whylet $(DESTDIR)$(PREFIX)/bin/whylet
	ln -sfn $(LIB)/kubectl-why $(DESTDIR)$(PREFIX)/bin/kubectl-why
	ln -sfn $(LIB)/kubectl-why $(DESTDIR)$(PREFIX)/bin/kubectl_complete-why
	[ -e $(DESTDIR)$(PREFIX)/bin/kubectl ] || ln -s $(LIB)/whylet $(DESTDIR)$(PREFIX)/bin/kubectl
	echo "installed $(DESTDIR)$(PREFIX)/bin/whylet; start it now and at every boot: whylet service install --now"

.PHONY: uninstall
uninstall: ## Remove what make install installed; the data stays (whylet down --purge)
	@for name in whylet kubectl-why kubectl_complete-why kubectl; do
		link=$(DESTDIR)$(PREFIX)/bin/$$name
		case $$(readlink $$link || true) in $(LIB)/*) rm $$link ;; esac
	done
	rm -rf $(DESTDIR)$(LIB)

# A release has a semantic version: make dist VERSION=v1.2.3 KEY=release.pem. The key is
# the releaser's (openssl ecparam -name prime256v1 -genkey -noout); without one nothing is
# signed.
RELEASE = $(if $(filter v%,$(VERSION)),$(VERSION),v0.0.0-$(VERSION))
.PHONY: dist
dist: deps ## Make all files of a release in dist/, but for uploading them
	@$(MAKE) --no-print-directory bundle client image VERSION=$(RELEASE) NODES="amd64 arm64" IMAGES="observe front mesh"
	$(GO) run ./deploy/dist -version $(RELEASE) -bin $(BIN) -out dist $(if $(KEY),-key $(KEY))
	ls -l dist
	programs=$$($(GO) version $(BIN)/whylet $(BIN)/kubectl-why $(LIBEXEC) $(BIN)/client $(BIN)/oci $$(ls -d $(BIN)/arm64/whylet $(BIN)/arm64/libexec 2>/dev/null || true) | sed -n 's/: go[0-9.].*//p')
	tools/vulncheck "$(TAGS)" $$programs || { rm -rf dist; exit 1; }

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) dist

## Running

.PHONY: up
up: build ## Build, start a node in the background, and say what to type next
	@$(BIN)/whylet up --detach --data-dir $(DATA_DIR)
	echo
	echo "bin/kubectl is there if kubectl is not installed: export PATH=$(CURDIR)/$(BIN):\$$PATH"
	echo "make down stops the node; make purge also removes all that it made."

.PHONY: down
down: ## Stop the node; its containers keep running
	@$(BIN)/whylet down --data-dir $(DATA_DIR)

.PHONY: purge
purge: ## Stop the node and remove all that it made, data included
	@$(BIN)/whylet down --purge --data-dir $(DATA_DIR)

## Testing

# Race detection needs minutes where the control plane is linked in; the packages
# that hold the concurrency of our own do not link it.
UNIT := $$($(GO) list ./... | grep -vE '/test/(e2e|differential)(/|$$)')

.PHONY: test
test: test-unit test-race test-laws test-reproducible test-e2e test-differential-short ## Run all tests

# go vet is lint's: go test would have it read all of Kubernetes once more, for fewer checks.
VET := -vet=off

# Tests with real containers, clocks and kernels run on machines that do other things
# too: what fails is run once more, and if it then passes it is told at the end as a
# bug of ours (bin/flaky-*.txt), not hidden. Few failures only: many are no accident.
TWICE = $(GO) tool -modfile=tools/go.mod gotestsum --rerun-fails=1 \
	--rerun-fails-max-failures=8 --rerun-fails-report=$(BIN)/flaky-$@.txt

.PHONY: test-unit
test-unit: chromium libexec peer ## Run the tests that need no built node (as root also those with real containers)
	@$(TWICE) --format pkgname --packages "$(UNIT)" -- $(VET) -tags $(TAGS)

.PHONY: test-laws
test-laws: ## Check the laws of pod health over a million random steps, always the same (a minute)
	@$(GO) test $(VET) ./health -count=1 -v -timeout 40m -run '^TestLaws$$' -rapid.checks=16000

# Not part of `make test`: what it finds is worth mending, and has nothing to do
# with the change that it is found by.
.PHONY: test-laws-long
test-laws-long: ## The same over ten million new steps (minutes; it prints its seed, SEED=N repeats one)
	@seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
	echo "seed $$seed"
	$(GO) test ./health -count=1 -v -timeout 60m -run '^TestLaws$$' -rapid.checks=150000 -rapid.seed=$$seed

.PHONY: test-reproducible
test-reproducible: build ## Build the same once more in another folder, and compare every program
	@other=$$(mktemp -d)
	trap 'rm -rf "$$other"' EXIT
	git ls-files -z | xargs -0 cp --parents -t "$$other"
	$(MAKE) --no-print-directory -C "$$other" binaries VERSION=$(VERSION)
	for program in whylet kubectl-why $$(cd $(BIN) && find libexec -type f); do
		cmp $(BIN)/$$program "$$other/$(BIN)/$$program"
	done
	echo "the same in both folders: whylet, kubectl-why and all helper programs"

# The packages whose concurrency is our own, but those that link the control plane (cluster) or kubectl (why/command):
# for race detection each package is compiled once more, five minutes of processor time for kubelet's under node.
RACE := ./evidence ./front ./journal ./journal/fold ./journal/otlp ./lanes ./mesh/identity ./mesh/sidecar ./node/... ./observe/... ./pods ./probe ./sense/... ./why/ask
.PHONY: test-race
test-race: deps ## Run the tests of our own concurrency under the race detector
	@CGO_ENABLED=1 $(GO) test $(VET) -race $(RACE)

.PHONY: test-e2e
test-e2e: build images ## Run a whole node and talk to it with kubectl (needs root)
	@$(MAKE) --no-print-directory image ARCHES=$$($(GO) env GOARCH)
	@$(TWICE) --format testname --rerun-fails-run-root-test --packages ./test/e2e -- $(VET) -count=1 -parallel 4 -timeout 40m
	$(GO) run ./test/images -servers -out $(BIN)/servers python redis
	$(TWICE) --format testname --packages ./test/e2e/scenarios -- $(VET) -count=1 -timeout 40m

.PHONY: test-cgroup2
test-cgroup2: libexec ## Run the tests that touch cgroups on cgroup v2, with real containers too, in an emulated machine (10 minutes, needs apt-get)
	@./test/cgroup2/run $(BIN)/cgroup2 packages containers

# Emulated, a node takes minutes to start and needs both cores for itself.
.PHONY: test-cgroup2-node
test-cgroup2-node: build images ## A whole node with real containers on cgroup v2, emulated (a quarter of an hour on a calm machine, needs apt-get)
	@./test/cgroup2/run $(BIN)/cgroup2 node

.PHONY: test-e2e-more
test-e2e-more: build images ## A reboot, user namespaces, more pressure, lost nodes: what make test leaves out (needs root)
	@WHYLET_E2E_MORE=1 $(GO) test -count=1 -timeout 20m ./test/e2e -run '^(TestReboot|TestUserNamespace|TestManyEaters|TestSoftThreshold|TestLostAndFound)$$'

.PHONY: test-runtimes
test-runtimes: build images peer observe ## Run a node, and a real kubelet with the agent beside it, on Debian's containerd and on CRI-O (needs root and apt-get; builds CRI-O)
	@./test/runtimes/fetch $(BIN)/runtimes
	export WHYLET_E2E_RUNTIMES=$(CURDIR)/$(BIN)/runtimes
	$(GO) test -count=1 -timeout 20m ./test/e2e -run '^TestForeign' -v
	$(GO) test -count=1 -timeout 20m ./test/e2e/scenarios -run '^TestObserve(DebianContainerd|CRIO)$$' -v

# make test-bare SUITE=trixie; SUITE=noble MIRROR=http://archive.ubuntu.com/ubuntu for an Ubuntu.
SUITE ?= bookworm
.PHONY: test-bare
test-bare: ## Do what a newcomer does on a bare machine: a minimal Debian in a folder (needs root)
	@./test/bare/run $(BIN)/bare $(SUITE) $(MIRROR)

.PHONY: test-packages
test-packages: ## Install, use and remove a release by its packages and by install.sh, in a minimal Debian in a folder (needs root, and make dist before)
	@./test/bare/packages $(BIN)/bare dist $(SUITE) $(MIRROR)
	./test/bare/run $(BIN)/bare $(SUITE) "$(MIRROR)" dist

.PHONY: test-arm64
test-arm64: build ## Run what is built for arm64 by qemu-user, and a whole node in an emulated machine (needs root and apt-get)
	@$(MAKE) --no-print-directory bundle NODES=arm64
	./test/arm64/run $(BIN)/bare $(BIN) $(BIN)/arm64
	./test/arm64/node $(BIN)/machine $(BIN)/dist/whylet-arm64

.PHONY: test-container
test-container: bundle images ## Run a node in a container, as CI does, with podman or docker, and by systemd-nspawn (needs root and apt-get)
	@./test/container/run $(BIN)/oci/whylet-node.tar $(BIN)/images/busybox.tar
	./test/container/nspawn $(BIN)/oci/whylet-node.tar $(BIN)/images/busybox.tar

.PHONY: test-container-cgroup2
test-container-cgroup2: bundle images ## The same by podman on cgroup v2, in an emulated machine (5 minutes on a calm machine, needs root and apt-get)
	@./test/container/cgroup2 $(BIN)/machine $(BIN)/oci/whylet-node.tar $(BIN)/images/busybox.tar $(MIRROR)

.PHONY: test-modules
test-modules: bundle ## What whylet doctor says of a kernel that lacks what a node needs, in an emulated machine (needs root and apt-get)
	@./test/machine/modules $(BIN)/machine $(BIN)/dist/whylet-$$($(GO) env GOARCH)

.PHONY: test-differential
test-differential: build peer images ## Compare 150 pods' lives on Whylet and on a real kubelet (5 minutes, needs root)
	@$(GO) test -count=1 -timeout 20m ./test/differential/...

.PHONY: test-differential-short
test-differential-short: build peer images ## The third of them on which most turns (2 minutes)
	@$(TWICE) --format pkgname --packages ./test/differential -- $(VET) -count=1 -short -timeout 20m

# make test-conformance FOCUS='Probing container' for those whose name matches; CONFORMANCE="-procs 4" for
# fewer at once. The tests are a module of their own, which takes minutes to build once.
SUITE_BIN := $(CURDIR)/$(BIN)/conformance
.PHONY: test-conformance
test-conformance: build ## Run Kubernetes' own conformance tests on a node (needs root, and half an hour or more)
	@mkdir -p $(SUITE_BIN)
	(cd test/conformance/suite && $(GO) test -c -vet=off -ldflags "$(LDFLAGS)" -o $(SUITE_BIN)/e2e.test k8s.io/kubernetes/test/e2e)
	(cd test/conformance/suite && $(GO) build -ldflags "-s -w" -o $(SUITE_BIN)/ginkgo github.com/onsi/ginkgo/v2/ginkgo)
	$(GO) run ./test/images -out $(SUITE_BIN)/images -conformance
	$(GO) run ./test/conformance $(if $(FOCUS),-focus '$(FOCUS)') $(CONFORMANCE)

# Both stacks in turn, twelve minutes in all; make bench-stacks STACKS="-parts crash,liveness" for some of it.
.PHONY: bench-stacks
bench-stacks: build peer images ## Measure Whylet and a real kubelet in one run, with ratios (needs root)
	@$(GO) run ./test/bench/stacks $(STACKS)

# make bench-observe OBSERVE="-period 1" for probes every second.
.PHONY: bench-observe
bench-observe: build peer images observe ## Measure what the observing agent costs beside a real kubelet (10 minutes, needs root)
	@$(GO) run ./test/bench/observe $(OBSERVE)

# make bench-pressure PRESSURE="-rate 100 -rounds 5" for slower eaters, more often.
.PHONY: bench-pressure
bench-pressure: build peer images ## Let pods eat a small node's memory on Whylet and on a real kubelet (7 minutes, needs root)
	@$(GO) run ./test/bench/pressure $(PRESSURE)

# A round of all takes an hour or more, and goes on where it was stopped as long as its file in bin/ is there;
# make bench-why ROUNDS=5 LOAD=15 WHY="-only hang,throttled -v"; STACK=kubelet beside a real kubelet.
ROUNDS ?= 1
LOAD ?= 0
STACK ?= whylet
.PHONY: bench-why
bench-why: build peer images $(if $(filter kubelet,$(STACK)),observe) ## Ask why about all scenarios in all situations, and print the score (needs root)
	@$(GO) run ./test/bench/why -stack $(STACK) -rounds $(ROUNDS) -load $(LOAD) \
		$(if $(WHY),$(WHY),-results $(BIN)/bench-$(STACK).jsonl -write docs/results.md -block bench-$(STACK))

.PHONY: front
front: ## Build bin/whylet-front, which answers for a whole cluster
	@./tools/gobuild -tags=$(TAGS) -ldflags="$(LDFLAGS)" $(BIN)/whylet-front=./cmd/whylet-front

NODES ?= 100,300,1000
.PHONY: bench-cluster
bench-cluster: peer front ## Measure a front with a thousand simulated agents and 50,000 pods (15 minutes)
	@WHYLET_FRONT=$(abspath $(BIN)/whylet-front) WHYLET_BENCH_NODES=$(NODES) $(GO) test -count=1 -timeout 40m ./test/bench/cluster -run '^TestBenchCluster$$' -v

# make test-faults FAULTS=15m
FAULTS ?= 1m
.PHONY: test-faults
test-faults: peer front ## Kill fronts, their API server, agents and archives at random while pods end and people ask
	@WHYLET_FAULTS=$(FAULTS) WHYLET_FRONT=$(abspath $(BIN)/whylet-front) $(GO) test -count=1 -timeout 60m ./test/faults -run '^Test(OneOfTwo|Faults)$$' -v

# Kubelets of other minor versions than go.mod's, each the newest that the module proxy serves:
# make test-observe KUBELET=1.34. Each takes minutes to build once.
KUBELETS := v1.34.4 v1.35.4 v1.36.3 v1.38.0-beta.0
OTHER_KUBELET = $(filter v$(KUBELET).%,$(KUBELETS))
.PHONY: test-observe
test-observe: build peer images observe ## A third of the scenarios beside a real kubelet, of another minor version by KUBELET=1.34, with the observing agent (10 minutes, needs root)
	@case "$(KUBELET)" in "" | 1.$(KUBERNETES_MINOR)) kubelet= ;; *)
		[ -n "$(OTHER_KUBELET)" ] || { echo "KUBELET=$(KUBELET) is none of 1.$(KUBERNETES_MINOR) $(KUBELETS)" >&2; exit 2; }
		kubelet=$(CURDIR)/$(BIN)/kubelets/$(OTHER_KUBELET)/kubelet
		[ -x $$kubelet ] || ./tools/kubelet $(OTHER_KUBELET) $$kubelet ;;
	esac
	WHYLET_KUBELET=$$kubelet WHYLET_OBSERVE=1 $(GO) test -count=1 -timeout 20m ./test/e2e/scenarios -run '^TestObserve' -v

.PHONY: test-systemd
test-systemd: build peer images observe ## A real kubelet and the agent under systemd on cgroup v2, in an emulated machine (half an hour on a calm machine, needs root and apt-get)
	@WHYLET_MACHINE=$(CURDIR)/$(BIN)/machine $(GO) test -count=1 -timeout 90m ./test/e2e/scenarios -run '^TestObserveSystemd$$' -v

# make test-trio TRIO=score plays a third of the scenarios on them, too, as test-observe does on one; TRIO=pools is seven
# real kubelets in two pools in place of the three.
TRIO ?= 1
.PHONY: test-trio
test-trio: build peer images observe front ## What crosses nodes, on a cluster of three real ones, asked at the front's door (5 minutes, needs root)
	@WHYLET_TRIO=$(TRIO) $(GO) test -count=1 -timeout 30m ./test/e2e/scenarios -run '^TestTrio' -v

# The real Helm is a module of its own: it brings forty others along.
.PHONY: test-helm
test-helm: ## Render and lint the chart with the real Helm, and compare with what kubectl why install makes
	@cd test/helm && $(GO) test -count=1 ./...

# The release before: a commit or a tag. Its programs are kept in bin/before.
BEFORE ?= 0350fefa
.PHONY: test-skew
test-skew: build peer images ## Play the release before and this one with each other, up and back, a node's and helm rollback included (BEFORE=COMMIT; builds both, and Helm; needs root)
	@before=$(abspath $(BIN))/before/$(BEFORE)
	if [ ! -x $$before/whylet ]; then
		tree=$$(mktemp -d)
		trap 'git worktree remove --force "$$tree"' EXIT
		git worktree add --quiet --detach $$tree $(BEFORE)
		rm -rf $$before && mkdir -p $$before
		cp -r $$tree/deploy/chart/whylet $$before/chart
		(cd $$tree && $(GO) build -tags $(TAGS) -ldflags "-s -w -X main.version=v0.0.1" -o $$before/ ./cmd/whylet-observe ./cmd/whylet-front ./cmd/kubectl-why)
		$(MAKE) --no-print-directory -C $$tree binaries BIN=bin VERSION=v0.0.1
		cp -r $$tree/bin/libexec $$tree/bin/whylet $$before/
	fi
	mkdir -p $(BIN)/now
	$(GO) build -tags $(TAGS) -ldflags "-s -w -X main.version=v0.0.2" -o $(BIN)/now/ ./cmd/whylet-observe ./cmd/whylet-front ./cmd/kubectl-why
	cp -r $(LIBEXEC) $(BIN)/whylet $(BIN)/now/
	(cd tools/helm && $(GO) build -o $(CURDIR)/$(BIN)/helm helm.sh/helm/v3/cmd/helm)
	WHYLET_SKEW=$$before:$(abspath $(BIN))/now WHYLET_SKEW_HELM=$(abspath $(BIN))/helm WHYLET_SKEW_CHART=$$before/chart $(GO) test -count=1 -timeout 30m ./test/skew -v

.PHONY: test-charts
test-charts: build peer images ## Install, upgrade, roll back and remove charts with the real Helm on a node, Whylet's own beside a real kubelet, too (needs root and apt-get; builds Helm)
	@$(MAKE) --no-print-directory image ARCHES=$$($(GO) env GOARCH)
	@(cd tools/helm && $(GO) build -o $(CURDIR)/$(BIN)/helm helm.sh/helm/v3/cmd/helm)
	$(GO) run ./test/images -out $(BIN)/servers -servers postgres
	$(GO) test -count=1 -timeout 20m ./test/e2e -run '^TestHelm' -v
	WHYLET_CHARTS=$(VERSION) $(GO) test -count=1 -timeout 20m ./test/e2e/scenarios -run '^TestChartBesideKubelet$$' -v

# Servers as people deploy them; what is played there was written down before it was first played.
.PHONY: bench-servers
bench-servers: build images ## The same about situations with real servers, from Debian packages (needs root and apt-get)
	@$(GO) run ./test/images -servers -out $(BIN)/servers
	$(GO) run ./test/bench/why -folder test/e2e/scenarios/servers -situations live -rounds $(ROUNDS) -load $(LOAD) \
		$(if $(WHY),$(WHY),-results $(BIN)/bench-servers.jsonl -write docs/results.md -block bench-servers)

# Whole stacks and probers beside kubelet's, then what has no peer: the journal and a question. Pressure, answers and
# single rooms have commands of their own (docs/performance.md).
.PHONY: bench
bench: bench-stacks ## Measure Whylet beside a real kubelet: start, idle, latency, reactions, density, probes; then journal and why (a quarter of an hour, needs root)
	@$(GO) test -tags $(TAGS) -run '^$$' -bench 'TenThousand|Append|Query|SucceedingProbe|Million|LongHistory|AllPods' -timeout 60m \
		./test/bench/probes ./journal ./why/serve

## Checking

.PHONY: lint
lint: deps ## Check format, go vet, staticcheck and known vulnerabilities
	@./tools/lint $(TAGS)
	@$(MAKE) --no-print-directory vet-client
