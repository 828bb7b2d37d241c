// Package e2e runs a whole node, as a user would, and talks to it with the real
// kubectl: bin/whylet up in a network namespace of its own, images made from
// Debian packages, real containers. `make test-e2e` builds what it needs first.
//
// One node serves all tests of the package; each test has a Kubernetes
// namespace of its own, so they run side by side. Tests that stop, kill or
// starve the node start one for themselves with [startNode].
//
// Environment: WHYLET_E2E_KEEP=1 leaves the node running for a look at it (the
// command to enter it is printed). WHYLET_E2E_BIN is the folder with the built
// programs, bin/ by default. WHYLET_E2E_MORE=1 also runs the tests that make test
// leaves out (make test-e2e-more).
package e2e
