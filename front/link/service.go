package link

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
)

// codec writes messages as JSON. It is given to each stream, and registered nowhere.
type codec struct{}

func (codec) Name() string                    { return "json" }
func (codec) Marshal(v any) ([]byte, error)   { return json.Marshal(v) }
func (codec) Unmarshal(b []byte, v any) error { return json.Unmarshal(b, v) }

// DialOptions are an agent's: what it writes at once is one record of TLS, and a front keeps
// room for the longest of each agent.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithWriteBufferSize(4 << 10)}
}

// ServerOptions are what a server of the stream needs.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ForceServerCodec(codec{}), grpc.MaxRecvMsgSize(MaxToFront), grpc.MaxSendMsgSize(MaxToAgent)}
}

const (
	service = "whylet.front.v1.Agents"
	method  = "Connect"
)

// Stream is the front's side.
type Stream = grpc.BidiStreamingServer[ToFront, ToAgent]

// Dialled is the agent's side.
type Dialled = grpc.BidiStreamingClient[ToFront, ToAgent]

// Serve has a server give each stream to a function, whose error ends it.
func Serve(s *grpc.Server, connect func(Stream) error) {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: method, ClientStreams: true, ServerStreams: true,
			Handler: func(_ any, s grpc.ServerStream) error {
				return connect(&grpc.GenericServerStream[ToFront, ToAgent]{ServerStream: s})
			},
		}},
	}, nil)
}

// Connect opens a stream.
func Connect(ctx context.Context, c *grpc.ClientConn) (Dialled, error) {
	s, err := c.NewStream(ctx, &grpc.StreamDesc{StreamName: method, ClientStreams: true, ServerStreams: true}, "/"+service+"/"+method,
		grpc.ForceCodec(codec{}), grpc.MaxCallRecvMsgSize(MaxToAgent), grpc.MaxCallSendMsgSize(MaxToFront))
	if err != nil {
		return nil, fmt.Errorf("connecting to the front: %w", err)
	}
	return &grpc.GenericClientStream[ToFront, ToAgent]{ClientStream: s}, nil
}
