package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// Words call a Service by its name where a place stands, and not where a word does.
func TestCalled(t *testing.T) {
	s := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"},
		Spec:       v1.ServiceSpec{ClusterIP: "10.43.0.9", Ports: []v1.ServicePort{{Port: 11300}}},
	}
	for text, want := range map[string]struct {
		called bool
		port   int32
	}{
		"RuntimeError: beanstalkd at cart:11300 refused the job":              {true, 11300},
		"cannot bind to ldap://cart:389: Can't contact":                       {true, 389},
		"no reply from amqp://guest:secret@cart/orders":                       {true, 0},
		"http://cart.shop.svc.cluster.local:8000/items gave nothing":          {true, 8000},
		"lookup of cart.shop.svc failed":                                      {true, 0},
		"cart.shop: gone":                                                     {true, 0},
		"error from upstream cart.":                                           {true, 0},
		`could not open host="cart" port=5432`:                                {true, 0},
		"backend cart has no server available!":                               {true, 0},
		"waiting for cart":                                                    {true, 0},
		"still waiting for service cart to come up":                           {true, 0},
		"Lost connection to cart during query":                                {true, 0},
		"feed@cart: Permission denied (publickey).":                           {true, 0},
		"feed@cart.example.com: mailbox unavailable":                          {false, 0},
		"dial 10.43.0.9:11300: what?":                                         {true, 11300},
		"no answer of 10.43.0.9.":                                             {true, 0},
		"KeyError: 'cart'":                                                    {false, 0},
		"TemplateNotFound: cart.html":                                         {false, 0},
		"/srv/cart/app.py:12: oops":                                           {false, 0},
		"cart:12:31 is late":                                                  {false, 0},
		"the cart is empty":                                                   {false, 0},
		"shopping-cart:11300 refused":                                         {false, 0},
		"110.43.0.99:80 refused":                                              {false, 0},
		`client: 10.42.0.1, request: "GET /", referrer: "http://cart:11300/"`: {false, 0},
		"waiting for the cart-worker":                                         {false, 0},
	} {
		if port, ok := Called(text, s); ok != want.called || port != want.port {
			t.Errorf("%s: %v %d", text, ok, port)
		}
	}
}

func TestCallsPod(t *testing.T) {
	for text, want := range map[string]bool{
		"the lock is held by worker-1":               true,
		"peer db-0.db:2380 is gone, worker-1.worker": true,
		"worker-12 has it":                           false,
		"client: worker-1":                           false,
	} {
		if got := CallsPod(text, "worker-1"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if CallsPod("the worker is gone", "worker") {
		t.Error("a mere word")
	}
}

func TestCallsJob(t *testing.T) {
	for text, want := range map[string]bool{
		"waiting for job migrate: schema is not 42 yet":                        true,
		"kubectl wait --for=condition=complete job/migrate --timeout=-1s":      true,
		`until kubectl get jobs.batch "migrate" -o jsonpath='{.status}'; do :`: true,
		"the migrate job is not done":                                          true,
		"jobs are late, migrate by hand":                                       false,
		"job migrate-all":                                                      false,
	} {
		if got := CallsJob(text, "migrate"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"redis.sentinel.NotFound: none": true,
		"SentinelError: none":           false,
		"sentinel-2 is gone":            false,
	} {
		if got := Mentions(text, "sentinel"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Where a Service is named is where a place stands before where a word does.
func TestNamed(t *testing.T) {
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 8000}}}}
	texts := []Setting{{Where: "key app.py", Text: "def cart(request):"}, {Where: "key hosts", Text: "cart:99"}, {Where: "key gateway.conf", Text: `proxy.server = ("host" => "cart", "port" => 8000)`}}
	if where, port, ok := Named(texts, s); !ok || where != "key gateway.conf" || port != 0 {
		t.Errorf("%s %d %v", where, port, ok)
	}
	if where, port, ok := Named(texts[:2], s); !ok || where != "key hosts" || port != 99 {
		t.Errorf("%s %d %v", where, port, ok)
	}
	if _, _, ok := Named([]Setting{{Where: "key", Text: "shopping-cart:80"}}, s); ok {
		t.Error("another's name")
	}
}

// The last that a log says is no error's words.
func TestLastToldLeadsNowhere(t *testing.T) {
	v := answer.Verdict{Cause: answer.AppHang}
	v.Say(answer.Parts{What: "Container web hangs. The last that its log says: " + answer.RoleLast.Mark("mailer: connected to db") + ". So " + answer.RoleWords.Mark("container web gets no traffic.")})
	if all := Words(&answer.Answer{}, v); len(all) != 1 || strings.Contains(all[0], "connected") || !strings.Contains(all[0], "gets no traffic") {
		t.Errorf("%q", all)
	}
	if all := Quoted(&answer.Answer{}, v); len(all) != 0 {
		t.Errorf("%q", all)
	}
}
