package link

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Bounds of what is sent, in bytes and numbers. Who sends more is not heard.
const (
	// MaxToFront and MaxToAgent bound one message.
	MaxToFront, MaxToAgent = 1 << 20, 64 << 10
	// MaxAnswer bounds one answer that is pushed, MaxChunk the part of a longer body that
	// one message carries, MaxBody that body.
	MaxAnswer, MaxChunk, MaxBody = 64 << 10, 256 << 10, 32 << 20
	// MaxStanding is of how many pods one message tells, MaxPods how many a node may have,
	// and MaxName bounds a name.
	MaxStanding, MaxPods, MaxName = 64, 2048, 253
	// Window is how many closing answers may wait for their acknowledgement.
	Window = 64
	// MaxAsked is how many questions an agent answers at the same time.
	MaxAsked = 8
)

// Audience is what the tokens are for that agents and machines show a front: the API
// server takes none of them.
const Audience = "whylet-front"

// ToFront is what an agent says: one field is set. Hello comes first.
type ToFront struct {
	Hello    *Hello    `json:"hello,omitempty"`
	Standing *Standing `json:"standing,omitempty"`
	Ended    *Ended    `json:"ended,omitempty"`
	Said     *Said     `json:"said,omitempty"`
}

// Hello begins a stream. Which node it is about is what the agent's token says.
type Hello struct {
	Version string `json:"version,omitempty"`
}

// Standing is how some pods of the node stand now.
type Standing struct {
	Pods []Pod       `json:"pods,omitempty"`
	Gone []types.UID `json:"gone,omitempty"`
	// Whole is set once all pods were told of.
	Whole bool `json:"whole,omitempty"`
}

// Pod is how a pod stands.
type Pod struct {
	fact.Pod
	// Answer is why it is as it is; empty while it is well.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Kind and Workload are what made it, and Revision the hash of its template; empty where
	// nothing did, and from agents that do not tell.
	Kind     string `json:"kind,omitempty"`
	Workload string `json:"workload,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// Mark is a place in a node's journal: the fact and when it was seen, by which a journal
// that began anew is told from the one before.
type Mark struct {
	ID   fact.ID   `json:"id"`
	Seen time.Time `json:"seen"`
}

// Ended is the closing answer about a pod that is gone. They come in the order of their
// marks.
type Ended struct {
	Mark Mark     `json:"mark"`
	Pod  fact.Pod `json:"pod"`
	// Owner is its controller, empty where it had none.
	Owner types.UID `json:"owner,omitempty"`
	// At is when it was gone, by the node's clock.
	At     time.Time       `json:"at"`
	Answer json.RawMessage `json:"answer"`
}

// Said is what the node serves for an Ask, or a part of it.
type Said struct {
	Ask  uint64 `json:"ask"`
	Code int    `json:"code"` // as in HTTP
	Body []byte `json:"body,omitempty"`
	More bool   `json:"more,omitempty"`
}

// ToAgent is what a front says: one field is set. Welcome comes first.
type ToAgent struct {
	Welcome *Welcome `json:"welcome,omitempty"`
	Ask     *Ask     `json:"ask,omitempty"`
	// Kept acknowledges all closing answers up to this mark: they are on the front's disk.
	Kept *Mark `json:"kept,omitempty"`
	// Requested tells who asked that a pod of the node be deleted.
	Requested *Requested `json:"requested,omitempty"`
}

// Requested is somebody's request to delete or evict a pod, as the API server told before
// it decided. UID is empty where the request does not say it.
type Requested struct {
	Pod  fact.Pod `json:"pod"`
	Verb string   `json:"verb"` // delete or evict
	User string   `json:"user"`
	// Ago is how long before this message: clocks differ.
	Ago time.Duration `json:"ago"`
}

// Welcome tells the agent up to where the front has its closing answers. Kept is not set
// where the front keeps none: then none are sent.
type Welcome struct {
	Node string `json:"node"`
	Kept *Mark  `json:"kept,omitempty"`
}

// Ask asks for what the node serves at a path, "why" or "why/facts".
type Ask struct {
	ID    uint64 `json:"id"`
	Path  string `json:"path"`
	Query string `json:"query"`
	// Within is how long the answer is waited for.
	Within time.Duration `json:"within"`
}
