// Package logline reads the log of a program. [Parse] reads it once, line by line, into a [Story]: how severe each
// line is, what it says without what a logger put around it, and which lines belong together. The methods of a Story
// then answer which line tells most of why the program ended or fails, what to quote, where in the application's
// code that was, what the program advises, and how far it came.
//
// The package knows formats: loggers, languages' errors and stacks, and how people word errors. What particular
// programs mean by their messages it is given as [Hints]. All functions are pure.
//
//	story.go      what a Story holds; Parse
//	format.go     what loggers put around a message, whatever their format
//	members.go    what the members of a line in JSON or logfmt say
//	json.go, logfmt.go, zap.go, hclog.go, nginx.go, apache.go, erlang.go, ruby.go, python.go, dotnet.go  a format each; testdata/formats
//	              has logs of these and others, with how they are read
//	requests.go   what servers log of each request
//	severity.go   how severe a line is, by itself and by those above it
//	frames.go     which lines are a stack's, a table's or of a crash report
//	groups.go     lines that say the same, counted, with when the first and the last of them was said
//	primary.go    the most telling line
//	reason.go     what that line says of why, with the lines that belong to it
//	stack.go      where in the application's own code that was
//	advice.go     what a log says is to be done
//	heading.go    a line that is but the heading of the next
//	keep.go       which lines are worth keeping
//	summary.go    what an application's answer says, without tags and what is well
//	progress.go   how far something came that is not done
//	context.go    the path below which an application serves
package logline
