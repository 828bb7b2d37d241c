package main

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/cluster"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/question"
)

// lookForQuestions is how often it is looked whether the cluster knows questions: an
// installed front answers from then on, and knows less of this node than it does.
const lookForQuestions = 10 * time.Second

// answerQuestions answers the questions that are written down in the cluster, as a front
// does, once somebody has told the cluster of them (whylet-front manifests). So rights in
// one namespace are enough here, too. It answers with the rights of a front: with those of an
// administrator an answer could hold what its asker may not read. What fails is logged: no pod
// depends on it.
func (s *stack) answerQuestions(ctx context.Context) {
	config, err := clientcmd.BuildConfigFromFlags("", s.cluster.AdminKubeconfig())
	if err != nil {
		s.log.Warn("questions are not answered", "error", err)
		return
	}
	config = cluster.AsFront(config)
	config.UserAgent = "whylet-front/" + version
	api, err := kubernetes.NewForConfig(config)
	var objects *dynamic.DynamicClient
	var nodes *ask.Cluster
	if err == nil {
		objects, err = dynamic.NewForConfig(config)
	}
	if err == nil {
		nodes, err = ask.Connect(config, ask.Options{NoFront: true})
	}
	if err != nil {
		s.log.Warn("questions are not answered", "error", err)
		return
	}
	for {
		if _, err := api.Discovery().ServerResourcesForGroupVersion(question.Group + "/" + question.Version); err == nil {
			break
		}
		select {
		case <-time.After(lookForQuestions):
		case <-ctx.Done():
			return
		}
	}
	q := door.Questions{API: objects, Answerer: &door.Answerer{Cluster: nodes, Name: "whylet up"}, Log: s.log}
	q.Run(ctx)
}
