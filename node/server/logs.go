package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/util/flushwriter"
	"k8s.io/cri-client/pkg/logs"
	"k8s.io/klog/v2"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/validation"
)

// containerLogs answers kubectl logs.
func (a *api) containerLogs(w http.ResponseWriter, r *http.Request) {
	namespace, name, container := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	options, status, err := logOptions(r.URL.Query())
	if err != nil {
		refuse(w, status, err)
		return
	}
	pod := a.host.Pod(namespace, name)
	if pod == nil {
		refuse(w, http.StatusNotFound, fmt.Errorf("pod %q does not exist", name))
		return
	}
	if containerSpec(pod, container) == nil {
		refuse(w, http.StatusNotFound, fmt.Errorf("container %q not found in pod %q", container, name))
		return
	}
	id, err := logged(pod, container, options.Previous)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	path, err := a.logPath(r.Context(), id)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	a.sendLog(w, r, path, options, follower{a: a, namespace: namespace, pod: name, container: container, id: id})
}

// sendLog copies the log to the client. Whatever fails before the first byte is
// told as an error; after it the connection is cut, so that half a log is not
// taken for a whole one.
func (a *api) sendLog(w http.ResponseWriter, r *http.Request, path string, options *v1.PodLogOptions, more follower) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		refuse(w, http.StatusBadRequest, fmt.Errorf("the log of container %q in pod %q is gone: %w", more.container, more.pod, err))
		return
	}
	out := &sentLog{Writer: w}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if options.Follow {
		// Each line goes out at once, and the headers before the first of them.
		out.Writer = flushwriter.Wrap(w)
		_, _ = out.Write(nil)
	}
	var stdout, stderr io.Writer = out, out
	switch {
	case options.Stream == nil:
	case *options.Stream == v1.LogStreamStdout:
		stderr = nil
	case *options.Stream == v1.LogStreamStderr:
		stdout = nil
	}
	ctx := klog.NewContext(r.Context(), logr.FromSlogHandler(a.log.Handler()))
	err := logs.ReadLogs(ctx, path, bareID(more.id), readerOptions(options, time.Now()), more, stdout, stderr)
	switch {
	case err == nil || r.Context().Err() != nil:
	case !out.sent:
		refuse(w, http.StatusBadRequest, err)
	default:
		a.log.Warn("log was cut off", "pod", more.pod, "namespace", more.namespace, "container", more.container, "error", err)
		panic(http.ErrAbortHandler)
	}
}

// sentLog remembers whether anything went out.
type sentLog struct {
	io.Writer
	sent bool
}

func (s *sentLog) Write(p []byte) (int, error) {
	s.sent = true
	return s.Writer.Write(p)
}

// logOptions reads and checks the query, and gives the HTTP status that goes
// with an error.
func logOptions(query url.Values) (*v1.PodLogOptions, int, error) {
	// An older spelling of tailLines, where "all" is the same as none.
	if tail := query.Get("tail"); tail != "" {
		query.Del("tailLines")
		if tail != "all" {
			query.Set("tailLines", tail)
		}
	}
	options := &v1.PodLogOptions{}
	if err := corev1.Convert_url_Values_To_v1_PodLogOptions(&query, options, nil); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("unable to decode query: %w", err)
	}
	if problems := validation.ValidatePodLogOptions(options); len(problems) > 0 {
		return nil, http.StatusUnprocessableEntity, fmt.Errorf("invalid request: %w", problems.ToAggregate())
	}
	return options, 0, nil
}

// readerOptions says the same in the log reader's terms, with an absolute time.
func readerOptions(o *v1.PodLogOptions, now time.Time) *logs.LogOptions {
	options := &logs.LogOptions{
		TailLines:  o.TailLines,
		LimitBytes: o.LimitBytes,
		Follow:     o.Follow,
		Timestamp:  o.Timestamps,
	}
	if o.SinceSeconds != nil {
		options.Since = now.Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	if o.SinceTime != nil {
		options.Since = o.SinceTime.Time
	}
	return options
}
