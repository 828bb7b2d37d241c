package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/paint"
)

// report is what a starting node tells: each step, and at the end that it is
// Ready. Failure is told by the command's error.
type report interface {
	step(text string)
	ready(i instance)
}

// terminalReport is for a node in the foreground. On a terminal it goes on with a view
// of the pods.
type terminalReport struct {
	streams
	*progress

	viewing sync.Mutex
	// endView ends the view and leaves it standing; nil: there is none.
	endView func()
}

// step ends the view: what a node that runs has to tell is mostly that it stops.
func (r *terminalReport) step(text string) {
	r.viewing.Lock()
	defer r.viewing.Unlock()
	if r.endView != nil && text != "" {
		r.endView()
		r.endView = nil
	}
	r.progress.step(text)
}

func (r *terminalReport) ready(i instance) {
	r.step("")
	announce(r.streams, i, time.Since(r.began))
	// Without systemd there is nobody to tell, which is no error.
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	fmt.Fprintln(r.err, "Press Ctrl-C to stop the node; containers keep running then.")
	if showsLive(r.err) && i.Kubeconfig != "" {
		fmt.Fprintln(r.err)
		r.viewing.Lock()
		defer r.viewing.Unlock()
		r.endView = startLive(r.streams, i)
	}
}

// announce says that the node is Ready and what to type next. The line for the
// shell is the data of the command.
func announce(s streams, i instance, after time.Duration) {
	fmt.Fprintf(s.err, "%s node %s is Ready after %.1f s\n\n", paint.Text(s.err, paint.Green, "done:"), i.Settings.NodeName, after.Seconds())
	for _, d := range i.Degraded {
		fmt.Fprintf(s.err, "%s %s\n", paint.Text(s.err, paint.Yellow, "note:"), d)
	}
	if i.Kubeconfig == "" {
		return
	}
	fmt.Fprintln(s.err, "Type next:")
	fmt.Fprintf(s.out, "export KUBECONFIG=%s\n", i.Kubeconfig)
	fmt.Fprintln(s.err, "kubectl get nodes")
}

// announceRunning says that there is nothing to start.
func announceRunning(s streams, i instance) {
	state := "is not Ready yet: whylet status says more"
	if i.ReadyAt != nil {
		state = "is Ready since " + i.ReadyAt.Format("2006-01-02 15:04:05")
	}
	fmt.Fprintf(s.err, "The node %s runs already, as process %d, and %s.\n", i.Settings.NodeName, i.PID, state)
	if i.Kubeconfig != "" {
		fmt.Fprintf(s.out, "export KUBECONFIG=%s\n", i.Kubeconfig)
	}
}

// message is one line from a detached node to the command that started it.
type message struct {
	Step string `json:"step,omitempty"`
	// Ready is the node that is Ready now, Running one that another process runs.
	Ready   *instance `json:"ready,omitempty"`
	Running *instance `json:"running,omitempty"`
	Error   string    `json:"error,omitempty"`
	Code    exit.Code `json:"code,omitempty"`
}

// reportFD is the descriptor on which a detached node finds the pipe.
const reportFD = 3

// pipeReport is for a detached node. What is said after the reader is gone is lost.
type pipeReport struct{ out io.WriteCloser }

// openPipeReport takes the inherited pipe and keeps it from the node's children.
func openPipeReport() pipeReport {
	unix.CloseOnExec(reportFD)
	return pipeReport{os.NewFile(reportFD, "report")}
}

func (r pipeReport) send(m message) {
	raw, err := json.Marshal(m)
	if err == nil {
		_, _ = r.out.Write(append(raw, '\n'))
	}
}

func (r pipeReport) step(text string) {
	if text != "" {
		r.send(message{Step: text})
	}
}

func (r pipeReport) ready(i instance) {
	r.send(message{Ready: &i})
	r.out.Close()
}

func (r pipeReport) running(i instance) {
	r.send(message{Running: &i})
	r.out.Close()
}

func (r pipeReport) failed(err error) {
	r.send(message{Error: err.Error(), Code: exit.Of(err)})
	r.out.Close()
}
