package cluster

import (
	"context"
	"fmt"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (e *endToEnd) balance(t *testing.T, name string, port int32) {
	t.Helper()
	_, err := e.admin.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: port}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// serves waits until the Service has the node's address.
func (e *endToEnd) serves(t *testing.T, name string) {
	t.Helper()
	eventually(t, "an address for Service "+name, func(ctx context.Context) error {
		s, err := e.admin.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if at := s.Status.LoadBalancer.Ingress; len(at) != 1 || at[0].IP != testNodeIP {
			return fmt.Errorf("it has %v", at)
		}
		return nil
	})
}

func (e *endToEnd) loadBalancer(t *testing.T) {
	e.balance(t, "first", 8000)
	e.serves(t, "first")
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:8000")
	if err != nil {
		t.Fatalf("this machine's own port: %v", err)
	}
	_ = connection.Close()

	e.balance(t, "second", 8000)
	e.warned(t, "second", "port 8000 of Service default/second is taken by Service default/first")
	e.balance(t, "api", 6443)
	e.warned(t, "api", "port 6443 of Service default/api is taken by process")

	if err := e.admin.CoreV1().Services("default").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.serves(t, "second")
	for _, name := range []string{"second", "api"} {
		if err := e.admin.CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
