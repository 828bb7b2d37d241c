package cri

import "whylet.dev/whylet/sense/containers"

// What a runtime says is read by package containers; these are its words where the
// calls here speak of it.
type (
	ContainerView = containers.ContainerView
	SandboxView   = containers.SandboxView
	Snapshot      = containers.Snapshot
	Health        = containers.Health
	Handler       = containers.Handler
)

// States of a container.
const (
	Created = containers.Created
	Running = containers.Running
	Unknown = containers.Unknown
	Exited  = containers.Exited
)
