// Package cluster measures a front with a thousand simulated agents and fifty thousand pods,
// against a real API server: `make bench-cluster`.
//
//	cluster_test.go  the measurement
//	agents_test.go   agents that say what they are told to
package cluster
