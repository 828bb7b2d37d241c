package observe

import (
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/sense/containers"
)

// logs is the folder of all pods' logs: the runtime's word, else kubelet's.
func (a *Agent) logs() string {
	if a.runtime != nil && a.runtime.Logs() != "" {
		return a.runtime.Root + a.runtime.Logs()
	}
	return podLogs()
}

// podLogs is where the kubelet that runs here keeps the logs of all pods, as the machine's
// first process sees it, or else kubelet itself.
var podLogs = sync.OnceValue(func() string {
	k, _ := kubelet.Find() // where there is none, it is as by default
	dir := k.PodLogs()
	if _, err := os.Stat(machine + dir); err != nil {
		return k.Root + dir
	}
	return machine + dir
})

// logReader reads the end of a log; nil where no line may be kept.
func (a *Agent) logReader() func(path string) fact.LogSaid {
	if a.o.NoLogLines {
		return nil
	}
	return lastSaid
}

// LogOf reads the log of a run of a container on this machine: all of a file that kubelet rotates as by default, at
// 10 MiB. ok is false if it cannot be read.
func LogOf(pod *v1.Pod, container string, attempt int32) (lines []string, at []time.Time, ok bool) {
	lines, at, err := containers.Tail(containers.LogFile(podLogs(), pod, container, attempt), 100_000, 10<<20)
	return lines, at, err == nil
}

// lastSaid reads the end of a log.
func lastSaid(path string) fact.LogSaid {
	return containers.LastSaid(containers.ContainerView{LogPath: path})
}
