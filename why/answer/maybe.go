package answer

import "strings"

// may says of a cause what it is that may have happened, for an answer that cannot tell which of several did.
var may = map[Cause]string{
	AppExitError:       "the main process failed by itself",
	AppExitSuccess:     "the main process ended by itself with its work done",
	AppCrashSignal:     "the main process crashed",
	AppSlowStart:       "the application starts more slowly than the probe allows",
	AppHang:            "the application hangs",
	AppOverloaded:      "the application has more to do than it can",
	AppUnhealthy:       "the application itself answers that it is not well",
	AppNotListening:    "the application does not listen on that port",
	AppListensElse:     "the application listens on another address or port",
	ChildProcessEnded:  "a process that the main process started has ended",
	KilledByOther:      "another process killed it",
	MemoryLimit:        "the container reached its memory limit",
	MemoryLimitChild:   "a child process was killed at the container's memory limit",
	PodMemoryLimit:     "the pod reached its memory limit",
	MemoryBackedVolume: "files in memory filled the container's memory limit",
	NodeOutOfMemory:    "the node ran out of memory",
	CPUThrottled:       "its CPU limit slowed the application down",
	NetworkPolicy:      "a NetworkPolicy blocks the connection",
	NetworkBlocked:     "the network drops or refuses the connection",
	DependencyDown:     "something that it needs does not work",
	ProbeWrongPort:     "the probe asks on the wrong port",
	ProbeWrongPath:     "the probe asks for a path that is not there",
	ProbeWrongScheme:   "the probe asks by HTTP where HTTPS is spoken, or the other way round",
	ProbeCommandFailed: "the probe's command itself does not work",
	Deleted:            "somebody deleted it",
}

// MayBe is the sentence of what remains possible, likeliest first.
func MayBe(causes []Cause) string {
	said := make([]string, len(causes))
	for i, c := range causes {
		if said[i] = may[c]; said[i] == "" {
			said[i] = "it is " + string(c)
		}
	}
	switch n := len(said); n {
	case 0:
		return ""
	case 1:
		return "It may be that " + said[0] + "."
	case 2:
		return "Either " + said[0] + ", or " + said[1] + "."
	default:
		return "One of these is possible: " + strings.Join(said[:n-1], "; ") + "; or " + said[n-1] + "."
	}
}
