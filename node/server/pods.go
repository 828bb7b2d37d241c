package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refuse answers with an error; see refuseText.
func refuse(w http.ResponseWriter, status int, err error) {
	refuseText(w, status, err.Error())
}

// refuseText answers with plain text, without the line end that http.Error
// adds: the API server puts the text into a sentence of its own.
func refuseText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

func podList(pods []*v1.Pod) *v1.PodList {
	list := &v1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		Items:    make([]v1.Pod, 0, len(pods)),
	}
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
	}
	return list
}

// pods lists the pods that are bound to the node.
func (a *api) pods(w http.ResponseWriter, _ *http.Request) {
	answer(w, podList(a.host.Pods()))
}

// runningPods lists the pods that the runtime has.
func (a *api) runningPods(w http.ResponseWriter, r *http.Request) {
	pods, err := a.host.RunningPods(r.Context())
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, podList(pods))
}

// showConfig shows how the node is configured.
func (a *api) showConfig(w http.ResponseWriter, _ *http.Request) {
	config := map[string]any{}
	if a.configz != nil {
		config = a.configz()
	}
	answer(w, config)
}

// summary is the Summary API. only_cpu_and_memory=true leaves out the rest.
func (a *api) summary(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("parse form failed: %w", err))
		return
	}
	summary, err := a.stats.Summary(r.Context(), r.Form.Get("only_cpu_and_memory") == "true")
	if err != nil {
		a.log.Warn("no stats summary", "error", err)
		refuseText(w, http.StatusInternalServerError, fmt.Sprintf("Internal Error: %v", err))
		return
	}
	answer(w, summary)
}
