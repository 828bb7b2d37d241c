// Package archive keeps closing answers: in SQLite, in a file of one front, or in
// PostgreSQL, which several share.
//
//	archive.go    opening, also later: a disk that is missing stops nobody
//	schema.go     the tables, version by version
//	closing.go    closing answers, in and out
//	retention.go  what has to go, by age and size
package archive
