// Package words reads the words of others: text that was made for people, and is all
// there is to go by. Each phrase that means something here stands in the file of who
// says it, with its source, the version that was read, and samples that the package's
// tests run. They also find each in what was really said: in the formats of the cited
// modules at the versions of go.mod, in errors that these make, or in what programs said
// when testdata/said.sh ran them; the few that are from memory are listed. How logs are read is held to the ends of some 300 in
// testdata: what a person would quote of each, and what it means. The package knows nothing of
// pods; all functions are pure.
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
//	troubles.go      what many have met, and who meets it first does not know
//	stores.go        the same of databases, queues and their clients
//	servers.go       of servers whose set-up does not fit what they find
//	variables.go     names of environment variables
//	keys.go          of keys, tokens, rights and clocks
//	machines.go      of the node, its kernel and its devices
//	builds.go        of how a program was built and is started
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
//	ready.go         that it has come up, and waits for work
//	progress.go      how far something came that is not done
//	size.go          how much memory a setting allows
//	secret.go        what may be nobody else's to read
//	value.go         whether words have a value, and not as a part of another
//	gist.go          what a line of a log says, without what a logger put before it
package words
