// Package question is how a question is written down in a cluster: an object that its
// asker creates, and a front answers in its status.
package question

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How the API server knows questions: Question in a namespace, about what is in it, and
// ClusterQuestion about everything.
const (
	Group, Version            = "why.whylet.dev", "v1alpha1"
	Kind, ClusterKind         = "Question", "ClusterQuestion"
	Resource, ClusterResource = "questions", "clusterquestions"
)

// Lives is how long a question stays before a front removes it.
const Lives = time.Minute

// MaxStatus bounds what an answer takes of the object, in bytes: etcd takes 1.5 MiB.
const MaxStatus = 1 << 20

// Question asks why.
type Question struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// Spec is what is asked. It does not change.
type Spec struct {
	// Kind and Name are what it is about; of a ClusterQuestion in Namespace.
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// All asks about everything that is not well.
	All       bool   `json:"all,omitempty"`
	Container string `json:"container,omitempty"`
	// Since leaves out what was over longer ago, as a duration.
	Since string `json:"since,omitempty"`
	// WhatIf asks what other settings would have changed, Suggest for settings, Facts for
	// the facts behind an answer about a pod or a node; UID says which pod of that name.
	WhatIf  string    `json:"whatIf,omitempty"`
	Suggest bool      `json:"suggest,omitempty"`
	Facts   bool      `json:"facts,omitempty"`
	UID     types.UID `json:"uid,omitempty"`
	// Asker is the user that asks, as the API server knows it: who may remove the question. Empty
	// where they do not know that themselves.
	Asker string `json:"asker,omitempty"`
}

// MaxAsker bounds an Asker; one with a longer name leaves it out.
const MaxAsker = 253

// Status is the answer.
type Status struct {
	// TakenBy are those who are at it. The first is there a moment after the question, long
	// before an answer may be: a question that nobody takes reached nobody.
	TakenBy []string `json:"takenBy,omitempty"`
	// AnsweredAt is set once it is there; By is who answered.
	AnsweredAt metav1.MicroTime `json:"answeredAt,omitzero"`
	By         string           `json:"by,omitempty"`
	// Answers are an AnswerList, Result what was asked for else.
	Answers json.RawMessage `json:"answers,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	// Facts are a portable file of the journal, of the node Node.
	Facts []byte `json:"facts,omitempty"`
	Node  string `json:"node,omitempty"`
	// Unheard are nodes that did not speak for themselves: what is said of their pods is what
	// others could see. Who may ask those nodes may learn more there.
	Unheard []string `json:"unheard,omitempty"`
	// Message says what failed, or who did not answer beside the answers that are there.
	Message string `json:"message,omitempty"`
}
