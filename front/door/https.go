package door

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	authn "k8s.io/api/authentication/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/front"
	"whylet.dev/whylet/why/ask"
	assistants "whylet.dev/whylet/why/mcp"
	"whylet.dev/whylet/why/question"
	"whylet.dev/whylet/why/serve"
)

// HTTPS is the door for machines: who shows a token is asked for in the API server, and
// every answer is of namespaces that they may ask about.
type HTTPS struct {
	API      kubernetes.Interface
	Answerer *Answerer
	Hub      *front.Hub
	Version  string
	// Others says whether further replicas can be asked; nil: there are none.
	Others func() bool
	// Archive is nil where there is none.
	Archive interface{ Trouble() error }
	// Ends is when the server's certificate does; nil: nobody knows.
	Ends func() time.Time
	// Key is what the API server knows the webhook for deletions by; nil or empty: there is
	// no such webhook.
	Key func() string
	// Known is called with a connection's address once it is known who asks by it; nil: nobody
	// wants to know.
	Known func(remote string)

	rights          rights
	asking, scrapes *gate
	reviews         chan struct{}
}

// mostBody is how long a request may be.
const mostBody = 1 << 20

// Handler serves:
//
//	GET  /why       parameters as in a Question's spec: an AnswerList
//	GET  /page      the same with a timeline, as a page; without a name what is not well
//	POST /alerts    what Alertmanager posts: the same, each alert with an annotation why
//	GET  /metrics   verdicts, for who may get /metrics of the API server
//	POST /deletions/KEY  the API server's: who asks for a pod's end
//	     /mcp       the Model Context Protocol, as streamable HTTP
func (h *HTTPS) Handler() http.Handler {
	h.rights.api, h.rights.reviews.API, h.reviews = h.API, h.API, make(chan struct{}, mostReviews)
	h.asking, h.scrapes = newGate(mostRequests, mostOpen, mostOfUser), newGate(mostScrapes, mostScrapes, mostScrapesOfUser)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /why", h.known(h.asking, h.last(h.why)))
	mux.HandleFunc("GET /page", h.known(h.asking, h.last(h.page)))
	mux.HandleFunc("GET /metrics", h.known(h.scrapes, h.metrics()))
	mux.HandleFunc("POST /alerts", h.known(h.asking, h.last(h.alerts)))
	mux.HandleFunc("POST /deletions/{key}", h.deletions)
	mux.HandleFunc("/mcp", h.known(h.asking, h.last(func(w http.ResponseWriter, r *http.Request, user authn.UserInfo) error {
		server := assistants.NewServer(h.Version, func(o ask.Options, everywhere bool) (ask.Asker, error) {
			return h.asker(r.Context(), user, o, everywhere)
		})
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}).ServeHTTP(w, r)
		return nil
	})))
	return mux
}

// serves answers a request of who may ask at all.
type serves func(http.ResponseWriter, *http.Request, authn.UserInfo) error

// last leaves requests to other replicas while this one has just begun and does not know of
// all nodes: it would answer with less than they do. Who comes again comes to another, as the
// connection ends.
func (h *HTTPS) last(f serves) serves {
	return func(w http.ResponseWriter, r *http.Request, user authn.UserInfo) error {
		if h.Others != nil && h.Others() && h.Hub.Fresh() && !h.Hub.Whole(r.Context()) {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			http.Error(w, "this replica has just begun, and agents are on their way to it: ask again", http.StatusServiceUnavailable)
			return nil
		}
		return f(w, r, user)
	}
}

// Server serves the [HTTPS.Handler] with bounds on how long anything takes.
func (h *HTTPS) Server() *http.Server {
	return &http.Server{
		Handler: h.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 2 * answerWithin, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
}

// known lets those in whose token is good, as many as can be served: all in all, and of one user.
// It takes a place of all only once the request is read, so that who sends slowly takes none.
func (h *HTTPS) known(g *gate, f serves) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		user, err := h.rights.who(r)
		if err == nil {
			if h.Known != nil {
				h.Known(r.RemoteAddr)
			}
			err = g.through(payer(user), func() error { return readWhole(w, r) }, func() error {
				ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
				defer cancel()
				return f(w, r.WithContext(ctx), user)
			})
		}
		if err != nil {
			refuse(w, r, err)
		}
	}
}

// readWhole puts a request's body into memory.
func readWhole(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

// refuse says why a request is not answered.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	var long *http.MaxBytesError
	code := http.StatusBadRequest
	switch {
	case errors.Is(err, errUnknown):
		code = http.StatusUnauthorized
		w.Header().Set("Connection", "close") // a stranger keeps no connection
		if isPage(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="whylet-front: a token as the password", charset="UTF-8"`)
		}
	case errors.Is(err, errForbidden):
		code = http.StatusForbidden
	case errors.Is(err, errTooMany):
		code = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "1")
	case errors.As(err, &long):
		code = http.StatusRequestEntityTooLarge
	}
	http.Error(w, err.Error(), code)
}

// specOf reads the parameters of a question.
func specOf(v url.Values) question.Spec {
	return question.Spec{
		Kind: v.Get("kind"), Name: v.Get("name"), All: v.Get("name") == "", Container: v.Get("container"), Since: v.Get("since"),
		WhatIf: v.Get("whatif"), Suggest: v.Get("suggest") == "true",
	}
}

// scoped is the scope of a request's question, if its asker may see it. Nodes and
// everything are of no namespace.
func (h *HTTPS) scoped(r *http.Request, user authn.UserInfo) (string, question.Spec, error) {
	spec := specOf(r.URL.Query())
	namespace := r.URL.Query().Get("namespace")
	if kind, ok := ask.Kind(spec.Kind); ok && kind == "node" {
		namespace = ""
	}
	return namespace, spec, h.rights.may(r.Context(), user, namespace)
}

func (h *HTTPS) why(w http.ResponseWriter, r *http.Request, user authn.UserInfo) error {
	namespace, spec, err := h.scoped(r, user)
	if err != nil {
		return err
	}
	var s question.Status
	all, err := h.Answerer.answer(r.Context(), h.Answerer.listen(), scope(namespace), spec, &s)
	body := s.Result
	if all != nil {
		err = errors.Join(err, put(&body, serve.NewList(all)))
	}
	if body == nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil { // who did not answer, beside those who did
		w.Header().Set("Warning", `199 whylet "`+oneLine(err.Error())+`"`)
	}
	_, _ = w.Write(body)
	return nil
}

// asker is who answers a user's assistant, if they may ask that.
func (h *HTTPS) asker(ctx context.Context, user authn.UserInfo, o ask.Options, everywhere bool) (ask.Asker, error) {
	if o.Namespace == "" && !everywhere {
		return nil, errors.New("say which namespace")
	}
	if everywhere {
		o.Namespace = ""
	}
	if err := h.rights.may(ctx, user, o.Namespace); err != nil {
		return nil, err
	}
	o.Front, o.NoFront, o.AtDoor, o.Within, o.Known = h.Answerer.Front, true, true, o.Namespace != "", h.Answerer.Known
	return h.Answerer.Cluster.With(o), nil
}

// alerts gives an Alertmanager's webhook its alerts back, with an annotation why for those
// that name a pod which the caller may ask about.
func (h *HTTPS) alerts(w http.ResponseWriter, r *http.Request, user authn.UserInfo) error {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return errors.New("this is not what Alertmanager posts: " + err.Error())
	}
	list, _ := body["alerts"].([]any)
	allowed := map[string]error{}
	for _, one := range list[:min(len(list), mostAlerts)] {
		alert, _ := one.(map[string]any)
		labels, _ := alert["labels"].(map[string]any)
		namespace, _ := labels["namespace"].(string)
		pod, _ := labels["pod"].(string)
		if namespace == "" || pod == "" {
			continue
		}
		err, asked := allowed[namespace]
		if !asked {
			err = h.rights.may(r.Context(), user, namespace)
			allowed[namespace] = err
		}
		if err != nil {
			return err
		}
		if why := h.sentence(r.Context(), namespace, pod); why != "" {
			notes, _ := alert["annotations"].(map[string]any)
			if notes == nil {
				notes = map[string]any{}
			}
			notes["why"] = why
			alert["annotations"] = notes
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
	return nil
}

// mostAlerts is how many alerts of one post are explained.
const mostAlerts = 100
