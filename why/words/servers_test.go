package words

import (
	"strings"
	"testing"
)

// What servers end for is told from what they say of it before and after.
func TestServersReason(t *testing.T) {
	for name, test := range map[string]struct {
		log, want string
		failed    bool
	}{
		"a warning that the error comes from": {"[Thu Nov 26 21:06:51.773693 2026] [core:warn] [pid 1] AH00111: Config variable ${APACHE_RUN_DIR} is not defined\napache2: Syntax error on line 80 of /etc/apache2/apache2.conf: DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot", "[core:warn] [pid 1] AH00111: Config variable ${APACHE_RUN_DIR} is not defined / apache2: Syntax error on line 80 of /etc/apache2/apache2.conf: DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot", false},
		"etcd 3.4, removed":                   {"2026-11-26 21:06:51.773693 E | etcdserver: the member has been permanently removed from the cluster\n2026-11-26 21:06:51.773702 I | etcdserver: the data-dir used by this member must be removed.\n2026-11-26 21:06:51.773709 I | etcdserver: aborting publish because server is stopped", "etcdserver: the member has been permanently removed from the cluster", true},
		"etcd 3.4, the first of two errors":   {"2026-11-26 21:06:51.1 W | rafthttp: lost the TCP streaming connection with peer 91bc\n2026-11-26 21:06:51.2 E | etcdserver: the member has been permanently removed from the cluster\n2026-11-26 21:06:51.3 I | etcdserver: the data-dir used by this member must be removed.\n2026-11-26 21:06:51.4 E | etcdserver: publish error: etcdserver: request cancelled\n2026-11-26 21:06:51.5 I | etcdserver: aborting publish because server is stopped\n2026-11-26 21:06:51.6 I | rafthttp: stopped peer 91bc", "etcdserver: the member has been permanently removed from the cluster / etcdserver: publish error: etcdserver: request cancelled", true},
		"etcd 3.4, critical":                  {"2026-11-26 21:06:51.773693 C | etcdmain: listen tcp 10.42.0.9:2380: bind: cannot assign requested address", "etcdmain: listen tcp 10.42.0.9:2380: bind: cannot assign requested address", true},
		"etcd 3.4, told to end":               {"2026-11-26 21:06:51.1 N | pkg/osutil: received terminated signal, shutting down...\n2026-11-26 21:06:51.2 E | rafthttp: failed to dial 91bc on stream MsgApp v2 (peer is gone)\n2026-11-26 21:06:51.3 I | rafthttp: stopped peer 91bc", "rafthttp: failed to dial 91bc on stream MsgApp v2 (peer is gone)", false},
		"slapd 2.5":                           {"6b045d38.22c6f91e 0x7f26d745b200 @(#) $OpenLDAP: slapd 2.5.13 (Feb  8 2023 01:56:12) $\n6b045d38.22c6f91e 0x7f26d745b200 read_config: no serverID / URL match found. Check slapd -h arguments.\n6b045d38.22c6f91e 0x7f26d745b200 slapd stopped.\n6b045d38.22c6f91e 0x7f26d745b200 connections_destroy: nothing to destroy.", "read_config: no serverID / URL match found. Check slapd -h arguments.", false},
		"slapd, without a time":               {"read_config: no serverID / URL match found. Check slapd -h arguments.\nslapd stopped.\nconnections_destroy: nothing to destroy.", "read_config: no serverID / URL match found. Check slapd -h arguments.", false},
		"supervisord":                         {"2026-11-26 21:06:52,973 WARN exited: redis (exit status 0; not expected)\n2026-11-26 21:06:53,973 INFO gave up: redis entered FATAL state, too many start retries too quickly", "exited: redis (exit status 0; not expected) / gave up: redis entered FATAL state, too many start retries too quickly", true},
		"supervisord 3":                       {"2026-11-26 21:06:52,973 INFO exited: redis (exit status 0; not expected)\n2026-11-26 21:06:53,973 INFO gave up: redis entered FATAL state, too many start retries too quickly", "exited: redis (exit status 0; not expected) / gave up: redis entered FATAL state, too many start retries too quickly", true},
		"a heading":                           {"Error:\n\nRabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]", "Error: RabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]", false},
		"a heading of nothing":                {"connect failed: no such shop\nError:", "connect failed: no such shop", false},
	} {
		lines := strings.Split(test.log, "\n")
		if got := Reason(lines); got != test.want || EndsFailed(lines) != test.failed {
			t.Errorf("%s: %q, failed %t", name, got, !test.failed)
		}
	}
}

// A probe's command answers with fields and headings, of which empty ones say nothing.
func TestToldHeadings(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"what follows":       {"Error:\nRabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]\n", "Error: RabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]"},
		"an empty field":     {"Slave_IO_Running: No\nLast_IO_Error: Got fatal error 1236 from master\nLast_SQL_Errno: 0\nLast_SQL_Error:\nReplicate_Ignore_Server_Ids:\n", "Last_IO_Error: Got fatal error 1236 from master"},
		"before another":     {"Last_IO_Error: Got fatal error 1236 from master\nLast_SQL_Error:\nMaster_Server_Id: 1\n", "Last_IO_Error: Got fatal error 1236 from master"},
		"at the very end":    {"could not ask the server\nError:\n", "could not ask the server"},
		"what fails of many": {"cluster_state:fail\ncluster_slots_assigned:0\ncluster_slots_ok:0\n", "cluster_state:fail"},
	} {
		if got := Told(test.output); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Who is refused for its credentials has reached whom it asked.
func TestRefusedForCredentials(t *testing.T) {
	for _, said := range []string{"meters: Connection refused: not authorised.", "ingest: connection refused by mqtt:1883: Not authorized", "CLIENT_ERROR unauthenticated", "Connection Refused: bad user name or password."} {
		if what, _, ok := Unreached(said); ok || !Credentials.In(said) || !Complains(said) {
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
