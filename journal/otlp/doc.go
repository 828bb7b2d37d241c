// Package otlp sends a journal's facts as OpenTelemetry log records to a collector
// (OTLP over gRPC or HTTP), for those who keep them elsewhere.
//
// The journal stays the truth and never waits: facts are read behind the writers,
// go through a bounded queue, and are dropped and counted when the collector is
// gone for longer than that holds. What a restart finds already written was sent
// by the run before, or was lost with its queue; nothing is sent twice.
//
//	otlp.go       following, queueing, sending
//	transport.go  a request by gRPC or HTTP, and the headers that go with it
//	record.go     a fact as a log record
package otlp
