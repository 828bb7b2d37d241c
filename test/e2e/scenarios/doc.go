// Package scenarios asks why about real containers that are in real trouble. Each
// folder is one scenario: manifest.yaml makes the trouble, to a pod named
// subject; answer.yaml is what must be said of it, and its first line what
// misleads there.
//
// All run side by side on one node of their own, as the tests of package e2e do,
// with the same environment variables. Each is asked until the answer is the
// expected one, then once more after the pod was deleted.
package scenarios
