package main

import "io"

// streams is where a command reads and writes. Tests give it buffers.
type streams struct {
	in  io.Reader
	out io.Writer // data only
	err io.Writer // progress, hints, errors
}
