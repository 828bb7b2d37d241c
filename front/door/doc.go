// Package door is where a front is asked: by objects in the cluster, and by HTTPS.
//
//	answer.go     one question, answered with no more than its asker may see
//	hearing.go    which nodes did not speak for themselves
//	questions.go  Question and ClusterQuestion: watched, and removed
//	turns.go      who of several answers one, and when, in its status
//	https.go      for machines: answers, alerts, assistants
//	show.go       the same as pages and sentences
//	metrics.go    the same as metrics
//	deletions.go  the webhook that is told who asks for a pod's end
//	rights.go     who may ask what by HTTPS
//	gate.go       how many ask at the same time, of all and of one user
//	manifests.go  what the cluster has to know for that: manifests.yaml
package door
