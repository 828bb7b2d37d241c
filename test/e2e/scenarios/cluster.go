package scenarios

import "context"

// Cluster is what scenarios are played on: a node of ours ([Node]), or the real
// kubelet with an agent beside it ([Kubelet]). Its methods may be called at the same
// time.
type Cluster interface {
	// Run runs a built program such as kubectl there and gives what it printed, also
	// where it failed.
	Run(ctx context.Context, stdin, program string, args ...string) ([]byte, error)
	// Stream starts a program whose output is read while it runs, until ctx ends.
	Stream(ctx context.Context, program string, args ...string) (*Stream, error)
	// Script runs a scenario's script, its trigger or its recovery, to its end and gives what it
	// printed.
	Script(ctx context.Context, c *Scenario, script, namespace string) (string, error)
	// Sights are with which eyes a question can be answered; the first is the best.
	Sights() []Sight
	// Why asks about a subject; the answer is JSON.
	Why(ctx context.Context, by Sight, subject, namespace string) ([]byte, error)
	// Record writes what is known of a namespace into a file, as kubectl why record does.
	Record(ctx context.Context, namespace, file string) error
	// Situations are those in which questions are asked there.
	Situations() []Situation
	// Restart brings about the situations in which a part of the node ends and
	// starts again, and does nothing for others.
	Restart(ctx context.Context, in Situation) error
	// Load takes archives of images.
	Load(ctx context.Context, archives ...string) error
	// Keep copies the memory that answers, so that it can be asked again when the cluster is
	// gone.
	Keep(dir string) error
	// Log is the end of its logs.
	Log() string
	// Purge ends it and removes all that it made.
	Purge() error
}

// Sight is with which eyes an answer was given.
type Sight string

// The sights: our own node's, and beside a real kubelet an agent's and that of the
// API alone.
const (
	ByNode  Sight = "node"
	ByAgent Sight = "agent"
	ByAPI   Sight = "API alone"
)
