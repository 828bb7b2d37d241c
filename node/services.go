package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"whylet.dev/whylet/node/cri"
)

// services follows all Services, because containers have them in their
// environment.
type services struct {
	factory informers.SharedInformerFactory
	lister  corelisters.ServiceLister
	synced  func() bool
}

func newServices(client kubernetes.Interface) *services {
	factory := informers.NewSharedInformerFactory(client, 0)
	all := factory.Core().V1().Services()
	return &services{factory: factory, lister: all.Lister(), synced: all.Informer().HasSynced}
}

func (s *services) run(ctx context.Context) {
	s.factory.Start(ctx.Done())
	<-ctx.Done()
	s.factory.Shutdown()
}

// firstList is how long a start waits for the first list of Services, rather
// than fail and be tried again later.
const firstList = 5 * time.Second

func (s *services) list(ctx context.Context) ([]*v1.Service, error) {
	if !s.synced() {
		ctx, cancel := context.WithTimeout(ctx, firstList)
		defer cancel()
		if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
			return nil, cri.ErrServicesUnread
		}
	}
	return s.lister.List(labels.Everything())
}
