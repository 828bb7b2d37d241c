package main

import (
	"errors"
	"fmt"
)

// Exit codes. `whylet help exit-codes` shows them.
const (
	exitOK         = 0
	exitFailed     = 1 // it was tried and did not succeed
	exitUsage      = 2 // the command line is wrong
	exitNotRunning = 3 // the node that the command talks to does not run, or is not Ready
	exitMachine    = 4 // the machine lacks something that whylet doctor names
)

const exitHelp = `Exit codes of every command:

  0  done
  1  it was tried and did not succeed; stderr says what and what to do
  2  the command line is wrong
  3  the node does not run, or runs and is not Ready
  4  the machine lacks something; whylet doctor says what, and what mends it`

// exitError is an error that decides the exit code. Without one it is 1.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode is the exit code for what a command returned.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	}
	return exitFailed
}
