// Package skew plays an upgrade and the way back: agent, front and kubectl why of the release
// before and of this one, each with each, on what the other one kept, before a real API server;
// and a whole node that changes its programs while its pods run.
// docs/skew.md says what is promised; make test-skew builds both.
package skew
