// Package shell writes command lines that people copy into a shell. Names in them come from pods, logs and files of
// others, and none may be more to a shell than one word.
//
//	shell.go  words in quotes, and lines of them
package shell
