// Package probe makes the attempts of Kubernetes' probes and keeps their
// schedule. It says what an attempt saw ([fact.Probed]); what follows from that
// is decided in package health.
//
// Files:
//
//	target.go    what to probe, compiled once into a plan
//	request.go   the HTTP request as kubelet sends it, and its bytes
//	prober.go    one attempt: which way it goes, and kubelet's three tries
//	poller.go    the fast way: plain HTTP and TCP on non-blocking sockets
//	flight.go    one attempt on that way
//	socket.go    its system calls
//	response.go  the HTTP responses that the fast way understands
//	fallback.go  how the fast way hands an attempt over to the long way
//	http.go      the long way: net/http
//	exec.go, grpc.go, tcp.go  the other handlers
//	hello.go     what is spoken at a port that does not speak the probe's protocol
//	evidence.go  what is kept of an answer, and what is not
//	scheduler.go when each probe is due
//	schedule.go  the arithmetic of due times
//
// # The same verdict as kubelet
//
// Verdicts and messages equal those of k8s.io/kubernetes/pkg/probe and of
// pkg/kubelet/prober at v1.37.2; probe/oracle_test holds both to it, side by
// side on the same misbehaving servers. The fast way decides only about the
// plainest of answers: a connection refused or timed out, and a well-formed
// HTTP/1 response. Whatever else comes is handed, with the connection and the
// bytes read so far, to the net/http transport that kubelet uses, so no request
// is sent twice and the words are net/http's own.
//
// # Where the time goes
//
// A probe over loopback costs some 40 µs of the kernel's time, whoever makes it;
// net/http's client doubles that with goroutines, timers and garbage. The fast
// way adds about a tenth: one epoll set, no goroutine an attempt, the request's
// bytes made once. On a calm node to be woken costs more than what is done then, so
// attempts begin many at a time, a success that changes nothing waits for the next
// of them, and the sockets' calls do not wake Go's monitor thread. kubelet's
// SO_LINGER of one second is left out: it does not shorten TIME_WAIT on Linux, and
// makes close(2) wait for the peer.
package probe
