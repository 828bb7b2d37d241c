// Package words reads the words of others: text that was made for people, and is all
// there is to go by. The phrases that mean something here are entries of [whylet.dev/whylet/knowledge], which has their
// sources and samples. How logs are read is held to the ends of some 300 in
// testdata: what a person would quote of each, and what it means. The package knows nothing of
// pods; all functions are pure.
//
//	phrase.go        the entries that are asked for
//	kubelet.go       kubelet, and our own node, which has its words
//	runc.go          runc, and the kernel that refuses it something
//	containerd.go    a runtime that gives no answer
//	scheduler.go     why a pod gets no node
//	kernel.go        what a system call came to, in the C library's words
//	applications.go  languages, libraries, databases and shells
//	variables.go     names of environment variables
//	probes.go        the clients that probes are made with, servers and proxies
//	gravity.go       how much a line of a log promises to say of why something failed
//	telling.go       which of the last lines of a log says most
//	reason.go        what that one says of why, with the lines that belong to it
//	stack.go         where in its own code something was that it tells of
//	advice.go        what a log says is to be done
//	headed.go        what a line leads to that is but a heading
//	keep.go          which of the last lines of a log are worth keeping
//	told.go          what an answer says, without tags and what is well
//	context.go       the path below which an application is
//	progress.go      how far something came that is not done
//	size.go          how much memory a setting allows
//	secret.go        what may be nobody else's to read
//	value.go         whether words have a value, and not as a part of another
//	gist.go          what a line of a log says, without what a logger put before it
package words
