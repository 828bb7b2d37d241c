package answer

import "strings"

// may has a clause for each cause that an answer may leave open.
var may = map[Cause]string{
	AppExitError:       "the main process failed by itself",
	AppExitSuccess:     "the main process ended by itself with its work done",
	AppCrashSignal:     "the main process crashed",
	AppSlowStart:       "the application starts more slowly than the probe allows",
	AppHang:            "the application hangs",
	AppOverloaded:      "the application is overloaded",
	AppUnhealthy:       "the application itself reports that it is unhealthy",
	AppNotListening:    "the application does not listen on that port",
	AppListensElse:     "the application listens on another address or port",
	ChildProcessEnded:  "a process that the main process started has ended",
	KilledByOther:      "another process killed the main process",
	MemoryLimit:        "the container reached its memory limit",
	MemoryLimitChild:   "a child process was killed at the container's memory limit",
	PodMemoryLimit:     "the pod reached its memory limit",
	MemoryBackedVolume: "files in memory filled the container's memory limit",
	NodeOutOfMemory:    "the node ran out of memory",
	CPUThrottled:       "the CPU limit slows the application down",
	NetworkPolicy:      "a NetworkPolicy blocks the connection",
	NetworkBlocked:     "the network drops or refuses the connection",
	DependencyDown:     "a dependency of the container does not work",
	ProbeWrongPort:     "the probe asks on the wrong port",
	ProbeWrongPath:     "the probe asks for a path that is not there",
	ProbeWrongScheme:   "the probe asks by HTTP where HTTPS is spoken, or the other way round",
	ProbeCommandFailed: "the probe's command itself does not work",
	Deleted:            "somebody deleted the pod",
}

// MayBe is the sentence of what remains possible. It does not say that nothing else is.
func MayBe(causes []Cause) string {
	said := make([]string, len(causes))
	for i, c := range causes {
		if said[i] = may[c]; said[i] == "" {
			said[i] = "the cause is " + string(c)
		}
	}
	n := len(said)
	switch n {
	case 0:
		return ""
	case 1:
		return "It may be that " + said[0] + "."
	}
	return "It may be that " + strings.Join(said[:n-1], ", that ") + ", or that " + said[n-1] + "."
}
