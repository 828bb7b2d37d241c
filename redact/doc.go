// Package redact removes secrets from text: log lines, outputs and commands of
// probes, termination messages, lines of ConfigMaps, variables, arguments, URLs
// and headers. Every room uses it twice: before a fact is written, and before
// anything leaves the node, the front or the client.
//
// A secret is found in one of four ways:
//
//   - by its name: the value of DB_PASSWORD, --token or <secret>
//   - by its shape: the prefixes that issuers document, JWTs, PEM blocks
//   - by its place: the password of a URL, of a connection string, of a command
//   - by chance: 32 characters or more that no word, path or digest has
//
// A secret is replaced as a whole. Text that explains a failure stays:
// "invalid token: unexpected end of JSON" holds no secret.
//
// Files:
//
//	redact.go    the exported functions, and the one pass over a text
//	index.go     what a pass stops at, indexed by its first two characters
//	names.go     names whose values are secrets
//	separator.go what stands between a name and its value
//	value.go     where a value begins and ends
//	explain.go   words that explain, and values that are no secrets
//	looks.go     whether a word looks like a secret, or like random characters
//	shapes.go    tokens that are recognized by their prefix
//	urls.go      passwords in URLs and connection strings
//	strings.go   all strings of a value
//	commands.go  passwords in the arguments of commands
package redact
