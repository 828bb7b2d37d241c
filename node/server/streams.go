package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/proxy"
	translator "k8s.io/apiserver/pkg/util/proxy"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

var (
	errNoPod    = errors.New("pod does not exist")
	errOtherPod = errors.New("pod not found")
)

// podOf finds the pod that the path names. A UID in the path must be its own.
func (a *api) podOf(r *http.Request) (*v1.Pod, error) {
	pod := a.host.Pod(r.PathValue("namespace"), r.PathValue("pod"))
	if pod == nil {
		return nil, errNoPod
	}
	if uid := r.PathValue("uid"); uid != "" && uid != string(pod.UID) {
		return nil, errOtherPod
	}
	return pod, nil
}

// runningOf finds the running container that the path names, with its bare id.
// On failure it has answered already.
func (a *api) runningOf(w http.ResponseWriter, r *http.Request) (*v1.Pod, string, bool) {
	pod, err := a.podOf(r)
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return nil, "", false
	}
	name := r.PathValue("container")
	if s := containerStatus(&pod.Status, name); s != nil && s.State.Running != nil {
		return pod, bareID(s.ContainerID), true
	}
	refuse(w, http.StatusInternalServerError, fmt.Errorf("container not found (%q)", name))
	return nil, "", false
}

// exec starts a command in a container and connects the client to it.
func (a *api) exec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	_, id, ok := a.runningOf(w, r)
	if !ok {
		return
	}
	response, err := a.runtime.Exec(r.Context(), &runtimeapi.ExecRequest{
		ContainerId: id, Cmd: r.URL.Query()["command"],
		Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
	})
	if err != nil {
		refuseStream(w, err)
		return
	}
	a.handOnCommand(w, r, response.Url, options)
}

// attach connects the client to the main process of a container. Whether that
// has a terminal was settled when it was created, whatever the client asks.
func (a *api) attach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	pod, id, ok := a.runningOf(w, r)
	if !ok {
		return
	}
	tty := false
	if spec := containerSpec(pod, r.PathValue("container")); spec != nil {
		tty = spec.TTY
	}
	response, err := a.runtime.Attach(r.Context(), &runtimeapi.AttachRequest{
		ContainerId: id, Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: tty,
	})
	if err != nil {
		refuseStream(w, err)
		return
	}
	a.handOnCommand(w, r, response.Url, options)
}

// portForward connects the client to ports of a pod.
func (a *api) portForward(w http.ResponseWriter, r *http.Request) {
	tunnel := wsstream.IsWebSocketRequestWithTunnelingProtocol(r)
	// A tunnelled client names the ports stream by stream, others may do so here.
	options := &portforward.V4Options{}
	if !tunnel {
		var err error
		if options, err = portforward.NewV4Options(r); err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
	}
	pod, err := a.podOf(r)
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return
	}
	sandbox := a.host.SandboxID(pod.UID)
	if sandbox == "" {
		refuse(w, http.StatusInternalServerError, fmt.Errorf("failed to find sandboxID for pod %s_%s(%s)", pod.Name, pod.Namespace, pod.UID))
		return
	}
	response, err := a.runtime.PortForward(r.Context(), &runtimeapi.PortForwardRequest{PodSandboxId: sandbox, Port: options.Ports})
	if err != nil {
		refuseStream(w, err)
		return
	}
	to, err := url.Parse(response.Url)
	if err != nil {
		refuseStream(w, err)
		return
	}
	handler := a.upgraded(to)
	if tunnel {
		handler = translator.NewTunnelingHandler(handler)
	}
	handler.ServeHTTP(w, r)
}

// handOnCommand connects the client of exec or attach to the runtime's streaming
// server. Version 5 of the protocol over websockets (it can close stdin) is
// spoken here and translated to SPDY; everything else goes through as it is.
func (a *api) handOnCommand(w http.ResponseWriter, r *http.Request, runtimeURL string, options *remotecommand.Options) {
	to, err := url.Parse(runtimeURL)
	if err != nil {
		refuseStream(w, err)
		return
	}
	if wsstream.IsWebSocketRequestWithStreamCloseProtocol(r) {
		translator.NewStreamTranslatorHandler(to, nil, 0, translator.Options{
			Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
		}).ServeHTTP(w, r)
		return
	}
	a.upgraded(to).ServeHTTP(w, r)
}

// upgraded passes an upgraded connection through to the runtime.
func (a *api) upgraded(to *url.URL) http.Handler {
	return proxy.NewUpgradeAwareHandler(to, nil, false, true, streamErrors{a.log})
}

// refuseStream answers with the HTTP status that belongs to the runtime's error.
func refuseStream(w http.ResponseWriter, err error) {
	_ = streaming.WriteError(err, w)
}

// streamErrors tells the client that the runtime's streaming server failed.
type streamErrors struct{ log *slog.Logger }

// Error implements proxy.ErrorResponder.
func (s streamErrors) Error(w http.ResponseWriter, r *http.Request, err error) {
	s.log.Warn("stream could not be handed on to the runtime", "path", r.URL.Path, "error", err)
	refuse(w, http.StatusInternalServerError, err)
}

// run runs a command in a container and answers with what it wrote.
func (a *api) run(w http.ResponseWriter, r *http.Request) {
	_, id, ok := a.runningOf(w, r)
	if !ok {
		return
	}
	stdout, stderr, err := a.runtime.ExecSync(r.Context(), id, strings.Split(r.FormValue("cmd"), " "), 0)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(stdout, stderr...))
}
