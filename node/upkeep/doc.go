// Package upkeep keeps a node's disks, memory and process ids from running out: what has
// to be done now and then, and what package pressure needs to know of pods and to have
// done.
//
//	upkeep.go    Upkeep: rotation of logs, storage limits, garbage collection
//	disks.go     what containers have on disk beside their volumes
//	pressure.go  what package pressure measures of pods, and asks for
package upkeep
