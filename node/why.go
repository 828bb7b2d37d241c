package node

import (
	"net/http"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/why/serve"
)

// questions are the handlers that answer from the node's memory, for the HTTPS API.
func (f *face) questions() map[string]http.Handler {
	return map[string]http.Handler{"/why": serve.Handler(f.journal, health.Policy{}, f.look), "/why/facts": serve.FactsHandler(f.journal)}
}
