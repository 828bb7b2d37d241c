{{- define "whylet.labels" -}}
app.kubernetes.io/name: whylet
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
