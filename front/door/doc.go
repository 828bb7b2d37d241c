// Package door is where a front is asked: by objects in the cluster, and by HTTPS.
//
//	answer.go     one question, answered with no more than its asker may see
//	questions.go  Question and ClusterQuestion: watched, answered in their status, removed
//	https.go      for machines: answers, alerts, assistants
//	show.go       the same as pages, sentences and metrics
//	rights.go     who may ask what by HTTPS
//	manifests.go  what the cluster has to know for that: manifests.yaml
package door
