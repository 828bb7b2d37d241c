// Package archive keeps closing answers: in SQLite, in a file of one front, or in
// PostgreSQL, which several share.
//
//	archive.go    its life: opened also later, since a missing disk stops nobody
//	place.go      opening a file, or a database whose server is verified
//	schema.go     the tables, version by version
//	closing.go    closing answers, in and out
//	retention.go  what has to go, by age and size
package archive
