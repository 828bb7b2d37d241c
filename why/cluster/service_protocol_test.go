package cluster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
)

// What a pod declares for another protocol is told only where nothing shows that it takes both.
func TestDeclaredOtherwise(t *testing.T) {
	service := &v1.Service{Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 53, Protocol: v1.ProtocolUDP, TargetPort: intstr.FromInt32(5353)}}}}
	twin := v1.Service{Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 53, Protocol: v1.ProtocolTCP, TargetPort: intstr.FromInt32(5353)}}}}
	pods := []v1.Pod{{Spec: v1.PodSpec{Containers: []v1.Container{{Ports: []v1.ContainerPort{{ContainerPort: 5353}}}}}}}
	seen := []answer.Answer{{Listening: &answer.Listening{Ports: []int32{5353}}}}
	for name, c := range map[string]struct {
		others []v1.Service
		seen   []answer.Answer
		want   bool
	}{"alone": {want: true}, "a second Service for the other protocol": {others: []v1.Service{twin}}, "seen to listen": {seen: seen}} {
		b := Behind{Service: service, Pods: pods, Answers: c.seen}
		if _, got := b.declaredOtherwise(service.Spec.Ports[0], c.others); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
