// Package words reads the words of others: text that was made for people, and is all
// there is to go by. The phrases that mean something here are entries of [whylet.dev/whylet/knowledge], which has their
// sources and samples. Logs are read by [whylet.dev/whylet/logline], to which this package tells what it knows of
// messages. The package knows nothing of pods; all functions are pure.
//
//	logs.go          reading logs with what is known here
//	kubelet.go       kubelet, and our own node, which has its words
//	runc.go          runc, and the kernel that refuses it something
//	containerd.go    a runtime that gives no answer
//	scheduler.go     why a pod gets no node
//	kernel.go        what a system call came to, in the C library's words
//	applications.go  languages, libraries, databases and shells
//	variables.go     names of environment variables
//	probes.go        the clients that probes are made with, servers and proxies
//	size.go          how much memory a setting allows
//	value.go         whether words have a value, and not as a part of another
package words
