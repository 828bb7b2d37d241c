package otlp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// transport carries requests to a collector. What fails has a gRPC status, by HTTP, too.
type transport interface {
	export(ctx context.Context, r *collectorpb.ExportLogsServiceRequest) (*collectorpb.ExportLogsServiceResponse, error)
	close()
}

// dial makes the transport that an endpoint asks for. It does not connect yet.
func dial(endpoint string, headers http.Header) (transport, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("OTLP endpoint %q is neither of the form http://host:4317, which is gRPC, nor http://host:4318/v1/logs, which is HTTP", endpoint)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("OTLP endpoint %q: the scheme is http or https", endpoint)
	case strings.Trim(u.Path, "/") != "":
		return &overHTTP{url: endpoint, headers: headers, client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would be asked by GET, with the headers
		}}, nil
	case u.Port() == "":
		return nil, fmt.Errorf("OTLP endpoint %q has no port, such as http://host:4317; by HTTP it has a path, such as http://host:4318/v1/logs", endpoint)
	}
	secure := insecure.NewCredentials()
	if u.Scheme == "https" {
		secure = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(u.Host, grpc.WithTransportCredentials(secure))
	if err != nil {
		return nil, fmt.Errorf("OTLP endpoint %q: %w", endpoint, err)
	}
	md := metadata.MD{}
	for name, values := range headers {
		md.Set(name, values...)
	}
	return &overGRPC{conn: conn, client: collectorpb.NewLogsServiceClient(conn), headers: md}, nil
}

type overGRPC struct {
	conn    *grpc.ClientConn
	client  collectorpb.LogsServiceClient
	headers metadata.MD
}

func (t *overGRPC) export(ctx context.Context, r *collectorpb.ExportLogsServiceRequest) (*collectorpb.ExportLogsServiceResponse, error) {
	return t.client.Export(metadata.NewOutgoingContext(ctx, t.headers), r)
}

func (t *overGRPC) close() { _ = t.conn.Close() }

// overHTTP is OTLP/HTTP with binary protobuf.
type overHTTP struct {
	url     string
	headers http.Header
	client  *http.Client
}

// mostReply is how much of a collector's answer is read, in bytes.
const mostReply = 64 << 10

func (t *overHTTP) export(ctx context.Context, r *collectorpb.ExportLogsServiceRequest) (*collectorpb.ExportLogsServiceResponse, error) {
	body, err := proto.Marshal(r)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	maps.Copy(request.Header, t.headers)
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := t.client.Do(request)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, mostReply))
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout: // those that OTLP says to repeat
		return nil, status.Error(codes.Unavailable, "it answers "+response.Status)
	default:
		return nil, status.Error(codes.InvalidArgument, "the collector answers "+response.Status)
	}
	said := &collectorpb.ExportLogsServiceResponse{}
	if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "application/x-protobuf") {
		_ = proto.Unmarshal(reply, said) // it has taken the request; the answer tells at most what it left out
	}
	return said, nil
}

func (t *overHTTP) close() { t.client.CloseIdleConnections() }

// ReadHeaders reads what is sent with each request, one header a line, such as
// "Authorization: Bearer TOKEN". The error says what is wrong, and never what stands there.
func ReadHeaders(r io.Reader) (http.Header, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostReply))
	if err != nil {
		return nil, err
	}
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(bytes.TrimSpace(data), "\n\n"...)))).ReadMIMEHeader()
	if err != nil || len(h) == 0 {
		return nil, errors.New("there is not one header a line in it, such as \"Authorization: Bearer TOKEN\"")
	}
	return http.Header(h), nil
}
