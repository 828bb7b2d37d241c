package words

// RuntimeAway is what a client of CRI says when the runtime's socket gives no answer.
var RuntimeAway = says("grpc-go 1.7x, codes Unavailable and DeadlineExceeded, as clients of containerd 2.3 see them",
	[]string{"connection refused", "transport is closing", "unavailable", "deadline exceeded", "containerd.sock"},
	`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"`,
	"rpc error: code = Unavailable desc = transport is closing",
	"rpc error: code = DeadlineExceeded desc = context deadline exceeded")
