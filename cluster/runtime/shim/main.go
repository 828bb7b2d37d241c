// Command shim holds containers for containerd, many pods to a process.
//
// containerd's own runc shim is one process a pod: with a hundred pods a hundred
// Go runtimes, half a gigabyte, each of which collects garbage twice a minute
// for the rest of its life. The task service inside has always been able to hold
// many containers. So this is the same service, with another rule about who
// shares a process: a pod belongs to one of a few groups by its sandbox id, and
// the first pod of a group starts the group's shim. If one shim should die, its
// pods die with it, a fraction of the node's, and the node starts them again.
//
// A process that several pods share may not end when one of them does. Upstream
// ends when a deletion finds no container left, which would race with a pod that
// is just being created; see [lingering].
//
// containerd starts a program for each new sandbox, to be told where its shim is. That is
// a small one, package join, which asks at the shim's [lingering.openDoor]; this one is
// started that way only where there is no shim yet.
//
// And what runc does with a container that exists, starting, signalling and
// deleting it, is done here with runc's library, without a process; see [inProcess].
// A command in a container that has to be killed is killed whole; see [thorough].
// And an end is told when the output has been read; see [patient].
package main

import (
	"context"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/log"
)

func main() {
	// Its log is a file of its own; see start.
	_ = log.SetLevel("warn")
	shim.RunShim(context.Background(),
		grouped{manager.NewShimManager("io.containerd.runc.v2")},
		func(c *shim.Config) { c.NoSetupLogger = true })
}
