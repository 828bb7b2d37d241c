package words

import "strings"

// RuntimeAway is what a client of CRI says when the runtime's socket gives no answer.
var RuntimeAway = says("grpc-go 1.7x, codes Unavailable and DeadlineExceeded, as clients of containerd 2.3 see them",
	[]string{"connection refused", "transport is closing", "unavailable", "deadline exceeded", "containerd.sock"},
	`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"`,
	"rpc error: code = Unavailable desc = transport is closing",
	"rpc error: code = DeadlineExceeded desc = context deadline exceeded")

// NoRuntime says whether a call of CRI that kubelet tells of got no answer: the code is gRPC's own. What the runtime
// passes on, such as a network plugin's that reached nobody, has the code Unknown before it.
func NoRuntime(message string) bool {
	_, rest, ok := strings.Cut(message, "rpc error: code = ")
	return ok && strings.HasPrefix(rest, "Unavailable ")
}
