// Package words reads the words of others: text that was made for people, and is all
// there is to go by. The phrases that mean something here are entries of [whylet.dev/whylet/knowledge], which has their
// sources and samples. Logs are read by [whylet.dev/whylet/logline], to which this package tells what it knows of
// messages. The package knows nothing of pods; all functions are pure.
//
//	logs.go          reading logs with what is known here
//	kubelet.go       kubelet, also of a runtime that gives no answer; our own node, which has its words; the scheduler
//	runc.go          runc, and the kernel that refuses it something
//	kernel.go        what a system call came to, in the C library's words
//	applications.go  languages, libraries, databases, shells, and the clients that probes are made with
//	listens.go       where servers say, or are told, to listen
//	value.go         values, variables, sizes and durations in words
package words
