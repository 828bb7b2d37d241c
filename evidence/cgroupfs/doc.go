// Package cgroupfs finds and reads control groups, on version 1 and 2: what the
// kernel counts of memory, CPU, processes and pressure in them.
//
// On version 1 there is a hierarchy per controller, on version 2 one for all. A
// machine can be hybrid: version 1 controllers with a version 2 hierarchy without
// any beside them. runc joins containers to that one too, and it is where such a
// machine shows pressure (PSI) per container. [Layout] finds out which it is,
// [Group] has the directories of one cgroup.
//
// [Group.Read] takes one look: one open, read and close per file, parsed in place
// with hardly an allocation. A hundred containers cost some milliseconds, which is
// why stats are read here and not asked from the runtime.
//
// The package stands apart from package cgroup, which makes and removes cgroups
// with half of Kubernetes behind it: who only reads needs none of that.
//
// Files:
//
//	layout.go  where cgroups are
//	read.go    Sample: what the kernel counts
//	parse.go   the formats of the kernel's files
package cgroupfs
