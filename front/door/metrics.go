package door

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	authn "k8s.io/api/authentication/v1"

	"whylet.dev/whylet/why/answer"
)

var (
	podVerdict    = prometheus.NewDesc("whylet_pod_verdict", "Why a pod is not well; 1 while it is so.", []string{"namespace", "pod", "container", "cause", "certainty"}, nil)
	newVerdicts   = prometheus.NewDesc("whylet_verdicts_total", "Verdicts that were new, by cause.", []string{"cause"}, nil)
	agents        = prometheus.NewDesc("whylet_front_agents", "Agents that are connected.", nil, nil)
	pods          = prometheus.NewDesc("whylet_front_pods", "Pods that agents tell of.", nil, nil)
	refused       = prometheus.NewDesc("whylet_front_agents_refused_total", "Agents whose token was refused.", nil, nil)
	foreign       = prometheus.NewDesc("whylet_front_foreign_pods_total", "Pods that an agent told of and that are not on its node.", nil, nil)
	archived      = prometheus.NewDesc("whylet_front_closing_answers_total", "Closing answers that were archived.", nil, nil)
	notArchived   = prometheus.NewDesc("whylet_front_archive_failed_total", "Attempts to archive that failed.", nil, nil)
	certificate   = prometheus.NewDesc("whylet_front_certificate_end_seconds", "When the front's certificate ends, in seconds since 1970.", nil, nil)
	archiveFailed = prometheus.NewDesc("whylet_front_archive_trouble", "1 while the archive does not work.", nil, nil)
)

// collector has what a front knows as metrics.
type collector struct{ *HTTPS }

// Describe implements prometheus.Collector.
func (collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{podVerdict, newVerdicts, agents, pods, refused, foreign, archived, notArchived, certificate, archiveFailed} {
		descs <- d
	}
}

// series are the values of the labels of podVerdict.
type series [5]string

// mostSeries is how many a pod has at most.
const mostSeries = 8

// seriesOf are those of an answer. No node invents any: causes and certainties are those of the closed
// lists, and containers those that the pod has.
func seriesOf(a answer.Answer, has func(container string) bool) []series {
	var all []series
	for i, v := range a.Verdicts {
		container := cmp.Or(v.Container, a.Symptoms[i].Container)
		if !has(container) {
			container = ""
		}
		if !slices.Contains(answer.Causes, v.Cause) { // of an agent that is newer, or turned
			v.Cause = answer.CauseUnknown
		}
		if v.Certainty != answer.Recorded && v.Certainty != answer.Inferred {
			v.Certainty = answer.Unknown
		}
		s := series{a.Subject.Namespace, a.Subject.Name, container, string(v.Cause), string(v.Certainty)}
		if len(all) < mostSeries && !slices.Contains(all, s) && !answer.WellOrDone(a.Symptoms[i], v) {
			all = append(all, s)
		}
	}
	return all
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	seen := map[series]bool{} // a pod and the one before it have the same name
	c.Hub.Each(func(_ string, a answer.Answer) {
		for _, s := range seriesOf(a, func(container string) bool { return c.Hub.HasContainer(a.Subject.UID, container) }) {
			if !seen[s] {
				seen[s] = true
				to <- prometheus.MustNewConstMetric(podVerdict, prometheus.GaugeValue, 1, s[:]...)
			}
		}
	})
	for cause, n := range c.Hub.Causes() {
		to <- prometheus.MustNewConstMetric(newVerdicts, prometheus.CounterValue, float64(n), string(cause))
	}
	n, connected, told := c.Hub.Count()
	trouble := 0.0
	if c.Archive != nil && c.Archive.Trouble() != nil {
		trouble = 1
	}
	if c.Ends != nil {
		to <- prometheus.MustNewConstMetric(certificate, prometheus.GaugeValue, float64(c.Ends().Unix()))
	}
	to <- prometheus.MustNewConstMetric(agents, prometheus.GaugeValue, float64(connected))
	to <- prometheus.MustNewConstMetric(pods, prometheus.GaugeValue, float64(told))
	to <- prometheus.MustNewConstMetric(archiveFailed, prometheus.GaugeValue, trouble)
	for desc, count := range map[*prometheus.Desc]uint64{refused: n.Refused, foreign: n.Foreign, archived: n.Kept, notArchived: n.Unkept} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(count))
	}
}

// metrics serves them to who may get them of the API server.
func (h *HTTPS) metrics() func(http.ResponseWriter, *http.Request, authn.UserInfo) error {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(collector{h})
	serve := promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return func(w http.ResponseWriter, r *http.Request, user authn.UserInfo) error {
		if err := h.rights.mayGet(r.Context(), user, "/metrics"); err != nil {
			return err
		}
		serve.ServeHTTP(w, r)
		return nil
	}
}
