package sidecar

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"whylet.dev/whylet/mesh"
)

// healthcheckLimit bounds a connection attempt for which the node does not stop
// waiting before.
const healthcheckLimit = 30 * time.Second

// healthcheck tells whether a port is open, as osm-edge's osm-healthcheck does:
// 400 when the request does not say which, 404 when it cannot be connected to,
// 200 when it can. It connects past the redirect, so to the application itself.
func healthcheck(w http.ResponseWriter, r *http.Request) {
	text := r.Header.Get(mesh.OriginalTCPPort)
	if text == "" {
		say(w, http.StatusBadRequest, "the header "+mesh.OriginalTCPPort+" is missing")
		return
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		say(w, http.StatusBadRequest, fmt.Sprintf("the header %s does not hold a port: %q", mesh.OriginalTCPPort, text))
		return
	}
	dialer := net.Dialer{Timeout: healthcheckLimit}
	// The request's context ends when the node stops waiting.
	conn, err := dialer.DialContext(r.Context(), "tcp", net.JoinHostPort(ownAddress(r), text))
	if err != nil {
		say(w, http.StatusNotFound, err.Error())
		return
	}
	_ = conn.Close()
	w.Header().Set(mesh.AnsweredBy, mesh.Application)
	_, _ = fmt.Fprintf(w, "port %d is open\n", port)
}
