// Package group says which shim holds a sandbox, and where that shim lets sandboxes
// in. It is for the shim and for the program that asks it, which has to be small.
package group

import (
	"hash/fnv"
	"path/filepath"
	"strconv"
)

// groups is how many shims there are at most. Each costs a Go runtime (about
// five megabytes), and is what one crash can take: a quarter of the pods.
const groups = 4

// Of is the group that a sandbox belongs to, for ever.
func Of(sandbox string) string {
	h := fnv.New32a()
	h.Write([]byte(sandbox))
	return "group-" + strconv.Itoa(int(h.Sum32()%groups))
}

// Door is the socket at which a group's shim tells whom it connects to that it will
// stay for a new sandbox, by sending what its start would print; nothing: it ends.
// containerd is the path of containerd's socket, namespace containerd's.
func Door(containerd, namespace, group string) string {
	return filepath.Join(filepath.Dir(containerd), namespace+"-"+group+".door")
}
