// Package journald reads the words of one unit out of systemd's journal, from its files
// alone: no program of the host, and no library of systemd's, is needed for it.
//
// It knows as much of the format as that takes (systemd, docs/JOURNAL_FILE_FORMAT.md):
// a file has fields, a field has the values that it ever had, and a value has the
// entries that have it. So the entries of a unit are found without reading the others.
// Of compressed values it reads those of zstd, which is what systemd writes since 246.
//
//	file.go    one file: its objects, and the entries of a unit
//	entry.go   one entry: its time and its message
//	follow.go  all files of a machine, from some way back, and what is added
package journald
