package scenarios

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/test/peer"
)

// Trio is a cluster of three nodes on this machine, each in namespaces of its own: two real
// kubelets with agents that dial a front, and a node of Whylet's. Questions are asked at the
// front's door.
type Trio struct {
	*Kubelet // the first, with the control plane and the front
	Second   *Kubelet
	Third    *peer.Stack

	more  []*Kubelet // of [StartMany]
	front *exec.Cmd
}

const (
	// frontAt is where agents dial the front, on the first node.
	frontAt = "198.18.7.1:9443"
	// agents is the namespace and the account that agents have.
	agents, agentAccount = "whylet", "whylet-agent"
)

// StartTrio starts the three nodes, the front and the agents.
func StartTrio(ctx context.Context, bin peer.Binaries) (*Trio, error) {
	return startTrio(ctx, bin, (*Trio).startNodes)
}

// StartMany starts a first real kubelet with the front, and others with these names.
func StartMany(ctx context.Context, bin peer.Binaries, names ...string) (*Trio, error) {
	return startTrio(ctx, bin, func(c *Trio, ctx context.Context) error {
		if err := c.speaks(ctx, c.Kubelet); err != nil {
			return err
		}
		for _, name := range names {
			k, err := c.join(ctx, name)
			if err != nil {
				return err
			}
			c.more = append(c.more, k)
		}
		return nil
	})
}

func startTrio(ctx context.Context, bin peer.Binaries, nodes func(*Trio, context.Context) error) (*Trio, error) {
	first, err := peer.StartKubelet(ctx, bin)
	if err != nil {
		return nil, err
	}
	c := &Trio{Kubelet: &Kubelet{stack: first, bin: bin, turn: make(chan struct{}, 3)}}
	err = c.startFront(ctx)
	if err == nil {
		err = nodes(c, ctx)
	}
	if err != nil {
		return nil, errors.Join(err, errors.New(c.Log()), c.Purge())
	}
	return c, nil
}

// startFront installs what a front needs and starts it, with the rights of its role.
func (c *Trio) startFront(ctx context.Context) error {
	manifests, err := exec.CommandContext(ctx, c.program("whylet-front"), "manifests").Output()
	if err != nil {
		return fmt.Errorf("whylet-front manifests: %w", err)
	}
	if _, err := c.Run(ctx, string(manifests), "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	if err := c.stack.Namespace(ctx, agents); err != nil {
		return err
	}
	api := c.stack.Client
	for _, name := range []string{agentAccount, "whylet-front"} {
		if _, err := api.CoreV1().ServiceAccounts(agents).Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "whylet-front"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "whylet-front"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: agents, Name: "whylet-front"}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := api.RbacV1().RoleBindings(metav1.NamespaceSystem).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "whylet-front"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: agents, Name: "whylet-front"}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	token, err := api.CoreV1().ServiceAccounts(agents).CreateToken(ctx, "whylet-front", &authv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	kubeconfig := c.in("front.conf")
	if err := peer.Kubeconfig(kubeconfig, token.Status.Token); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(frontAt)
	if err := certificate(c.in("front.crt"), c.in("front.key"), net.ParseIP(host)); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.stack.Dir, "logs", "front.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c.front = c.stack.Command(context.WithoutCancel(ctx), c.program("whylet-front"), "--kubeconfig", kubeconfig, "--archive", c.in("archive.db"),
		"--tls-cert", c.in("front.crt"), "--tls-key", c.in("front.key"), "--agent-account", agents+"/"+agentAccount, "-v")
	c.front.Stdout, c.front.Stderr = log, log
	return c.front.Start()
}

func (c *Trio) in(file string) string { return filepath.Join(c.stack.Dir, file) }

// secondMemory is what the second node has, so that one pod can take it.
const secondMemory = 1 << 30

// startNodes has the other nodes join, and puts agents beside the real kubelets.
func (c *Trio) startNodes(ctx context.Context) error {
	smaller, err := peer.Smaller(secondMemory)
	if err != nil {
		return err
	}
	if err := c.speaks(ctx, c.Kubelet); err != nil {
		return err
	}
	if c.Second, err = c.join(ctx, "second", smaller, "evictionPressureTransitionPeriod: 5s"); err != nil {
		return err
	}
	c.Third, err = c.stack.JoinWhylet(ctx, "whylet", "--front", frontAt, "--front-ca", c.in("front.crt"))
	return err
}

// join adds a real kubelet with an agent beside it.
func (c *Trio) join(ctx context.Context, name string, settings ...string) (*Kubelet, error) {
	stack, err := c.stack.Join(ctx, name, settings...)
	if err != nil {
		return nil, err
	}
	k := &Kubelet{stack: stack, bin: c.bin, turn: c.turn}
	if err := c.speaks(ctx, k); err != nil {
		return nil, errors.Join(err, k.Purge())
	}
	return k, nil
}

// speaks puts an agent beside a kubelet, which dials the front.
func (c *Trio) speaks(ctx context.Context, k *Kubelet) (err error) {
	if k.flags, err = c.dials(ctx, k.stack); err != nil {
		return err
	}
	return k.startAgent(ctx)
}

// dials makes the pod that a node's agent speaks for, as that of a DaemonSet would be, and
// gives the flags by which the agent shows its token.
func (c *Trio) dials(ctx context.Context, node *peer.Stack) ([]string, error) {
	pod, err := c.stack.Client.CoreV1().Pods(agents).Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node.Node},
		Spec: v1.PodSpec{
			NodeName: node.Node, ServiceAccountName: agentAccount, PriorityClassName: "system-node-critical", // else it is evicted with what it tells of
			Containers: []v1.Container{{Name: "agent", Image: "busybox:1", Command: []string{"sleep", "infinity"}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	token, err := c.stack.Client.CoreV1().ServiceAccounts(agents).CreateToken(ctx, agentAccount, &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		Audiences: []string{"whylet-front"}, BoundObjectRef: &authv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(node.Dir, "agent.token")
	return []string{"--front", frontAt, "--front-ca", c.in("front.crt"), "--front-token", file}, os.WriteFile(file, []byte(token.Status.Token), 0o600)
}

// certificate makes a certificate for an address, which vouches for itself.
func certificate(crt, key string, address net.IP) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{address}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(crt, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600),
	)
}

// ByFront is with the eyes of all nodes, through the front's door.
const ByFront Sight = "front"

// Sights are the front's.
func (c *Trio) Sights() []Sight { return []Sight{ByFront} }

// Why asks as kubectl why does: the front.
func (c *Trio) Why(ctx context.Context, _ Sight, subject, namespace string) ([]byte, error) {
	return c.Run(ctx, "", "kubectl-why", subject, "-n", namespace, "-o", "json")
}

// Record asks the front for what the nodes know.
func (c *Trio) Record(ctx context.Context, namespace, file string) error {
	_, err := c.Run(ctx, "", "kubectl-why", "record", "-n", namespace, "--to", file, "--force")
	return err
}

// LoseSecond ends the second node as a power cut would, agent and all.
func (c *Trio) LoseSecond() error {
	if c.Second == nil {
		return nil
	}
	second := c.Second
	c.Second = nil
	return second.Purge()
}

// LoseGuest ends Whylet's node, with its memory.
func (c *Trio) LoseGuest() error {
	guest := c.Third
	c.Third = nil
	if guest == nil {
		return nil
	}
	return guest.Stop()
}

// Load takes archives of images to all nodes.
func (c *Trio) Load(ctx context.Context, archives ...string) error {
	return errors.Join(c.Kubelet.Load(ctx, archives...), c.Second.Load(ctx, archives...))
}

// Log is the end of all logs.
func (c *Trio) Log() string {
	logs := []string{c.Kubelet.Log()}
	if c.Second != nil {
		logs = append(logs, c.Second.Log())
	}
	if c.Third != nil {
		logs = append(logs, c.Third.Logs())
	}
	return strings.Join(logs, "\n")
}

// Purge ends all of it.
func (c *Trio) Purge() error {
	var errs []error
	errs = append(errs, c.LoseGuest(), c.LoseSecond())
	for _, k := range c.more {
		errs = append(errs, k.Purge())
	}
	if c.front != nil && c.front.Process != nil {
		if err := c.front.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
		_ = c.front.Wait() // it was killed
	}
	return errors.Join(append(errs, c.Kubelet.Purge())...)
}
