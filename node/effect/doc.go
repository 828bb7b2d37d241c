// Package effect attempts what was decided: set-ups, starts, kills, resizes and ends of
// pods. What comes of it are facts again.
//
//	effects.go   Effects: the queues, and what effects work with
//	setup.go     volumes, cgroup and sandbox
//	start.go     image, configuration, start and postStart hook of a container
//	kill.go      preStop hook, stop signal, SIGKILL
//	resize.go    other resources for what runs
//	end.go       what is left of containers, pods and sandboxes is taken away
//	handlers.go  RuntimeClasses, and what the runtime can do for them
package effect
