// Command grpchealth is the server of the image grpchealth: it answers
// grpc.health.v1.Health, and nothing else.
//
//	grpchealth -port 50051 -service sick=NOT_SERVING -service web=SERVING
//
// The empty service, which probes without a service ask for, is "-service =SERVING";
// it serves unless it is said otherwise. Names that are not listed are not known.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "grpchealth:", err)
		os.Exit(1)
	}
}

func run() error {
	port := flag.Int("port", 50051, "TCP port to listen on")
	answers := health.NewServer()
	flag.Func("service", "NAME=STATUS, where STATUS is SERVING, NOT_SERVING or UNKNOWN", func(text string) error {
		name, word, _ := strings.Cut(text, "=")
		status, ok := healthpb.HealthCheckResponse_ServingStatus_value[word]
		if !ok {
			return errors.New("no such status")
		}
		answers.SetServingStatus(name, healthpb.HealthCheckResponse_ServingStatus(status))
		return nil
	})
	flag.Parse()
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", *port))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, answers)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-ends
		server.Stop()
	}()
	return server.Serve(listener)
}
