// Package mcp lets programs ask why by the Model Context Protocol, as kubectl why mcp
// serves it on its standard input and output. All tools only read.
//
//	mcp.go    the server and its tools
//	facts.go  the tools that show facts
package mcp
