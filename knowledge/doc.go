// Package knowledge holds what applications print, as data. An entry of base/*.yaml says how a message is recognised,
// where it is from, what it means and what to do about it; each file holds one speaker. The package finds the entries
// that a text fits, and knows nothing of pods: what a step does is carried out by [whylet.dev/whylet/why].
//
// All expressions share one automaton of the texts that they need, so that a line is read once and few expressions are
// run. No order counts: where two messages fit one text, one of them says that it is over the other.
//
//	role.go       what a message stands for in a log
//	entry.go      the schema, and how one entry is matched
//	load.go       reading a file, strictly and within bounds
//	check.go      what an entry must satisfy; TestEntries applies it to the base
//	split.go      the alternatives of an expression, each of which needs a sample
//	literals.go   the texts that an expression needs
//	automaton.go  finding many texts in one pass
//	base.go       entries that are asked together
//	group.go      some entries that are looked for together
//	extend.go     entries of a user: how many, and what they may not do
//	directory.go  those of a directory
//	embedded.go   the base that comes with the program
//	ids.go        the entries of it that code asks for by name
//	steps.go      the verbs of steps, and filling in slots
package knowledge
