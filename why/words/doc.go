// Package words reads the words of others: text that was made for people, and is all
// there is to go by. Each phrase that means something here stands in the file of who
// says it, with its source, the version that was read, and samples that the package's
// test runs. The package knows nothing of pods; all functions are pure.
//
//	phrase.go        what a phrase is
//	kubelet.go       kubelet, and our own node, which has its words
//	runc.go          runc, and the kernel that refuses it something
//	containerd.go    a runtime that gives no answer
//	registries.go    registries, as containerd hands them on
//	scheduler.go     why a pod gets no node
//	apiserver.go     why a pod is not taken
//	kernel.go        what a system call came to, in the C library's words
//	applications.go  languages, libraries, databases and shells
//	probes.go        the clients that probes are made with, servers and proxies
//	telling.go       which of the last lines of a log says most
package words
