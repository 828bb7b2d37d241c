package cluster

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
)

// What to do about a pod that looks well and is to blame fits what is known of it: its own words, or
// what it does. It is run in the container that takes the connections.
func TestSteps(t *testing.T) {
	yes, idle := true, 0.0
	pod := func(owner string, command ...string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0"}}
		p.Spec.Containers = []v1.Container{{Name: "log"}, {Name: "db", Command: command, Ports: []v1.ContainerPort{{ContainerPort: 5432}}}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "db", Controller: &yes}}
		}
		return p
	}
	listens := answer.Answer{Listening: &answer.Listening{Ports: []int32{5432}, Busy: &idle}}
	says := listens
	says.Complaints = []answer.Complaint{{Container: "log", Text: "ERROR: oops"}}
	changed := says
	changed.Changes = []answer.Changed{{At: dawn, Object: "Secret", Name: "keys"}}
	refuses := listens
	refuses.Complaints = []answer.Complaint{{Container: "db", Text: `FATAL: password authentication failed for user "shop"`}}
	for name, tt := range map[string]struct {
		pod   *v1.Pod
		a     answer.Answer
		cause answer.Cause
		want  []string
	}{
		"its log says it":           {pod("StatefulSet"), says, answer.AppUnhealthy, []string{"kubectl -n shop logs db-0 -c log --tail=100"}},
		"it refuses who asks it":    {pod("StatefulSet"), refuses, answer.AppUnhealthy, []string{"kubectl -n shop get secrets", "kubectl -n shop logs db-0 -c db --tail=100"}},
		"it does not answer":        {pod("StatefulSet"), listens, answer.AppHang, []string{"kubectl -n shop exec db-0 -c db -- sh -c 'grep -s . /proc/[0-9]*/task/*/comm /proc/[0-9]*/task/*/wchan'", "kubectl -n shop delete pod db-0"}},
		"nothing makes it":          {pod(""), listens, answer.AppHang, []string{"kubectl -n shop exec db-0 -c db -- sh -c 'grep -s . /proc/[0-9]*/task/*/comm /proc/[0-9]*/task/*/wchan'", "kubectl -n shop get pod db-0 -o yaml | kubectl replace --force -f -"}},
		"a Job's, which may fail":   {pod("Job"), listens, answer.AppHang, []string{"kubectl -n shop exec db-0 -c db -- sh -c 'grep -s . /proc/[0-9]*/task/*/comm /proc/[0-9]*/task/*/wchan'"}},
		"a JVM":                     {pod("Job", "/usr/bin/java", "-jar", "x.jar"), listens, answer.AppHang, []string{"kubectl -n shop exec db-0 -c db -- sh -c 'kill -3 1' && kubectl -n shop logs db-0 -c db --tail=300"}},
		"a JVM below a shell":       {pod("Job", "sh", "-c", "java -jar x.jar"), listens, answer.AppHang, []string{"kubectl -n shop exec db-0 -c db -- sh -c 'grep -s . /proc/[0-9]*/task/*/comm /proc/[0-9]*/task/*/wchan'"}},
		"what it reads was changed": {pod("StatefulSet"), changed, answer.ConfigChanged, []string{"kubectl -n shop edit secret keys", "kubectl -n shop get secret keys -o yaml --show-managed-fields"}},
		"it is at work":             {pod("StatefulSet"), listens, answer.AppOverloaded, []string{"kubectl -n shop exec db-0 -c db -- top -b -n 1"}},
		"nothing is known to do":    {pod("StatefulSet"), listens, answer.DependencyDown, nil},
		"a Job's pod whose disk":    {pod("Job"), answer.Answer{Complaints: []answer.Complaint{{Container: "log", Text: "No space left on device", Cause: answer.DiskFull}}}, answer.DiskFull, []string{"kubectl -n shop exec db-0 -c log -- df -h"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Steps(tt.pod, &tt.a, answer.Hop{Cause: tt.cause}, dawn.Add(2*time.Second)) {
				got = append(got, f.Command)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q", got)
			}
		})
	}
}

// A Service that leads to a port on which its pod does not listen is given the one on which it does,
// where there is one alone.
func TestDeafFixes(t *testing.T) {
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(5433)}}}}
	pod := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", UID: "u"}}
	for name, tt := range map[string]struct {
		l    answer.Listening
		want string
	}{
		"one port":    {answer.Listening{Ports: []int32{5432}}, "give port 80 of Service db targetPort 5432, if that is what is to answer there, or have the pod listen on 5433"},
		"several":     {answer.Listening{Ports: []int32{80, 5432}}, ""},
		"on loopback": {answer.Listening{Ports: []int32{80}, Loopback: []int32{5433}}, "have it listen on all addresses (0.0.0.0 or ::) on port 5433, and not on loopback alone"},
	} {
		a := answer.Answer{Subject: answer.Subject{UID: "u"}, AsOf: pod.CreationTimestamp.Add(2 * comesUp), Listening: &tt.l}
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: pod.CreationTimestamp}}}}
		hop := Behind{Service: service, Pods: []v1.Pod{pod}, Answers: []answer.Answer{a}}.Deaf(80)
		got := ""
		if hop != nil && len(hop.Fixes) > 0 {
			got = hop.Fixes[0].Text
		}
		if got != tt.want {
			t.Errorf("%s: %q of %+v", name, got, hop)
		}
	}
}

// A Service for one pod of several that are numbered is no typing error where that pod is not there.
func TestOtherMember(t *testing.T) {
	pods := []v1.Pod{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"member": "etcd0", "app": "shop"}}}}
	for _, c := range []struct{ key, want, is string }{
		{"member", "etcd2", "etcd0"}, {"member", "etcd0", ""}, {"member", "zk-2", ""}, {"app", "shop2", ""}, {"app", "store", ""},
	} {
		if got := otherMember(pods, c.key, c.want); got != c.is {
			t.Errorf("%s=%s: %q", c.key, c.want, got)
		}
	}
}
