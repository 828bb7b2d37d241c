// Package command is the command why, of whylet and of the client kubectl-why: what it
// asks is in package ask, this is its flags and what it prints.
//
//	command.go   the flags, and one run
//	source.go    who is asked: a cluster as kubectl finds it, a journal, a file, a dump; and -f: about what a manifest made
//	write.go     answers as text, JSON and YAML
//	watch.go     -w: a line for each change
//	proposal.go  --what-if and --suggest
//	page.go      -o html and --web
//	knowledge.go  kubectl why knowledge, and --knowledge
//	mcp.go       kubectl why mcp: answers for programs that speak MCP
//	record.go    kubectl why record and dump: a namespace or all into a file, to be asked with --file
//	complete.go  what a shell completes
package command
