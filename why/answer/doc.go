// Package answer is what a question about a pod, a workload, a Service or a node
// comes back as: what is read by a script, a page or a person. It knows facts by
// their ids and kinds, and not how a cause is found.
//
//	answer.go    the answer, its symptoms, verdicts, links and fixes; its JSON form is an interface
//	parts.go     what the text of a verdict is made of, how it is worded, and changed, or leads to another
//	quote.go     what of a text is kept typed
//	step.go      what tells the kinds of steps apart
//	cause.go     the closed list of causes, and those that remain possible, in words
//	order.go     what needs a person first, what is well, and answers put together
//	clean.go     what is not to be shown, dropped from what others say; and an answer without secrets
//	rows.go      what an answer says to people, row by row, as data
//	text.go      the rows as text
//	overview.go  many answers at once, a line each, or what many pods have in common, told once; also of those that
//	             fail alike
//	report.go    many answers as Markdown, for a pull request, and as a JUnit report, for CI
//	eviction.go  the order in which pods go
package answer
