package identity

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// The paths of the control plane.
const (
	SignPath    = "/v1/sign"
	MembersPath = "/v1/members"
)

// Signed is the answer to a signing request, in PEM.
type Signed struct {
	Certificate string `json:"certificate"`
	Bundle      string `json:"bundle"`
}

// Members lists the addresses behind which there are members only: those of pods
// and of services.
type Members struct {
	Addresses []string `json:"addresses"`
}

// ErrUnauthenticated says that a token is not one of a service account, or not
// for the mesh.
var ErrUnauthenticated = errors.New("the token is not good for the mesh")

// Server signs members' certificates and tells them of one another.
type Server struct {
	CA func() *CA
	// Authenticate finds out whose token it is. An error that wraps
	// ErrUnauthenticated says that it is nobody's.
	Authenticate func(ctx context.Context, token string) (namespace, serviceAccount string, err error)
	Members      func() []string
	Log          *slog.Logger
}

// Register adds the server's paths.
func (s *Server) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+SignPath, s.authenticated(s.sign))
	mux.HandleFunc("GET "+MembersPath, s.authenticated(func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		addresses := s.Members()
		if addresses == nil {
			addresses = []string{}
		}
		reply(w, Members{Addresses: addresses})
	}))
}

func (s *Server) authenticated(next func(w http.ResponseWriter, r *http.Request, namespace, account string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" {
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		namespace, account, err := s.Authenticate(r.Context(), token)
		switch {
		case errors.Is(err, ErrUnauthenticated):
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil:
			s.Log.Error("a token could not be checked", "error", err)
			http.Error(w, "the token could not be checked", http.StatusServiceUnavailable)
		default:
			next(w, r, namespace, account)
		}
	}
}

func (s *Server) sign(w http.ResponseWriter, r *http.Request, namespace, account string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	block, _ := pem.Decode(body)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		http.Error(w, "the body is not a PEM certificate request", http.StatusBadRequest)
		return
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ca, id := s.CA(), ID(namespace, account)
	cert, err := ca.SignMember(request, id, time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Log.Info("signed a member's certificate", "id", id.String())
	reply(w, Signed{Certificate: string(cert), Bundle: string(ca.Bundle())})
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the member asks again
}
