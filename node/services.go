package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

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

func (s *services) list() ([]*v1.Service, error) {
	if !s.synced() {
		return nil, cri.ErrServicesUnread
	}
	return s.lister.List(labels.Everything())
}
