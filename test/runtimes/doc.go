// Package runtimes says how the container runtimes are run that are not our own: Debian's
// containerd, which is older, and CRI-O. fetch brings them along.
//
//	runtimes.go  their configuration, with all their files in one folder
//	mirror.go    a registry that CRI-O pulls test images from
package runtimes
