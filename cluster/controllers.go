package cluster

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"whylet.dev/whylet/cluster/pki"
)

// controllers are the ones that the users of one machine need. Left out are
// those for clouds, CSI attachment (it polls ten times a second), device claims,
// and what only serves several nodes' address ranges.
var controllers = []string{
	names.CertificateSigningRequestApprovingController,
	names.CertificateSigningRequestCleanerController,
	names.CertificateSigningRequestSigningController,
	names.ClusterRoleAggregationController,
	names.CronJobController,
	names.DaemonSetController,
	names.DeploymentController,
	names.DisruptionController,
	names.EndpointSliceController,
	names.EndpointSliceMirroringController,
	names.EndpointsController,
	names.EphemeralVolumeController,
	names.GarbageCollectorController,
	names.HorizontalPodAutoscalerController,
	names.JobController,
	names.KubeAPIServerClusterTrustBundlePublisherController,
	names.NamespaceController,
	names.NodeLifecycleController,
	names.PersistentVolumeBinderController,
	names.PersistentVolumeClaimProtectionController,
	names.PersistentVolumeExpanderController,
	names.PersistentVolumeProtectionController,
	names.PodCertificateRequestCleanerController,
	names.PodGarbageCollectorController,
	names.ReplicaSetController,
	names.ReplicationControllerController,
	names.ResourceQuotaController,
	names.RootCACertificatePublisherController,
	names.ServiceAccountController,
	names.ServiceAccountTokenController,
	names.ServiceCIDRController,
	names.StatefulSetController,
	names.StorageVersionMigratorController,
	names.TTLAfterFinishedController,
	names.TaintEvictionController,
	names.ValidatingAdmissionPolicyStatusController,
	names.VolumeAttributesClassProtectionController,
}

// runControllers runs kube-controller-manager until ctx ends.
func runControllers(ctx context.Context, c Config, p paths, certs *pki.Set) error {
	opts, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("controller manager options: %w", err)
	}
	known, off, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	if err := parseFlags("kube-controller-manager", opts.Flags(known, off, aliases), controllerFlags(c, p, certs)); err != nil {
		return err
	}
	config, err := opts.Config(ctx, known, off, aliases)
	if err != nil {
		return fmt.Errorf("configure controller manager: %w", err)
	}
	return app.Run(ctx, config.Complete())
}

func controllerFlags(c Config, p paths, certs *pki.Set) []string {
	return append([]string{
		"--controllers=" + strings.Join(controllers, ","),
		"--kubeconfig=" + p.kubeconfig("controller-manager"),
		"--service-account-private-key-file=" + certs.SigningKey,
		"--root-ca-file=" + certs.CA.CertFile,
		"--cluster-signing-cert-file=" + certs.CA.CertFile,
		"--cluster-signing-key-file=" + certs.CA.KeyFile,
		"--cluster-cidr=" + c.PodCIDR,
		"--service-cluster-ip-range=" + c.ServiceCIDR,
		"--controller-shutdown-timeout=2s",
		// What nearly everybody goes by are EndpointSlices: they come first.
		"--endpoint-updates-batch-period=50ms",
	}, clientFlags...)
}

// clientFlags are what controller manager and scheduler have in common: no
// server of their own, no leader to elect, and a client that the API server's
// own limits bound.
var clientFlags = []string{
	"--secure-port=0",
	"--leader-elect=false",
	"--profiling=false",
	"--kube-api-qps=1000",
	"--kube-api-burst=2000",
	"--kube-api-content-type=application/vnd.kubernetes.protobuf",
}
