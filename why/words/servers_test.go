package words

import (
	"testing"

	"whylet.dev/whylet/knowledge"
)

// Who is refused for its credentials has reached whom it asked.
func TestRefusedForCredentials(t *testing.T) {
	for _, said := range []string{"meters: Connection refused: not authorised.", "ingest: connection refused by mqtt:1883: Not authorized", "CLIENT_ERROR unauthenticated", "Connection Refused: bad user name or password."} {
		if what, _, ok := Unreached(said); ok || !knowledge.Credentials.In(said) || !Complains(said) {
			t.Errorf("%s: %s", said, what)
		}
	}
	if _, _, ok := Unreached("Error connecting to redis:6379. max number of clients reached."); ok {
		t.Error("it was reached, and takes no more clients")
	}
}

// What sounds like a fault, and is none, is no complaint.
func TestServersAreWell(t *testing.T) {
	for _, said := range []string{"no errors found", "No migrations found, nothing to do", "cluster_state:ok", "connections_destroy: nothing to destroy.", "no updates found. Next check in 5 m", "2026-11-26 21:06:51.7 I | etcdserver: the data-dir used by this member must be removed."} {
		if Complains(said) {
			t.Error(said)
		}
	}
}

// A client that leaves breaks nothing off.
func TestBreaksOff(t *testing.T) {
	for said, want := range map[string]bool{
		"meters: disconnected by mqtt:1883 after 1 s":                               true,
		"disconnected by the broker":                                                true,
		"Received disconnect from 10.42.0.7 port 44112:11: disconnected by user":    false,
		"Client meters disconnected by its own wish":                                false,
		"recv() failed (104: Connection reset by peer) while reading client header": false,
	} {
		if BreaksOff(said) != want {
			t.Errorf("%s: %t", said, !want)
		}
	}
}
