package words

import "strings"

// NoRuntime says whether a call of CRI that kubelet tells of got no answer: the code is gRPC's own. What the runtime
// passes on, such as a network plugin's that reached nobody, has the code Unknown before it.
func NoRuntime(message string) bool {
	_, rest, ok := strings.Cut(message, "rpc error: code = ")
	return ok && strings.HasPrefix(rest, "Unavailable ")
}
