// Package words reads the words of others: what languages, the kernel's system
// calls and applications say, in text that was made for people. It knows nothing
// of pods; all functions are pure.
//
//	telling.go  which of the last lines of a log says most
package words
