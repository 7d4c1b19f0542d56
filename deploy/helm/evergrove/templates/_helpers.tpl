{{- define "evergrove.name" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "evergrove.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "evergrove.selector" . }}
{{- end }}

{{- define "evergrove.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "evergrove.account" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "evergrove.name" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "evergrove.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}

{{/* Fields that all pods share. */}}
{{- define "evergrove.pod" -}}
serviceAccountName: {{ include "evergrove.account" . }}
automountServiceAccountToken: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "evergrove.container" -}}
image: {{ include "evergrove.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Passwords and keys, from secrets to the environment and never to a command line. */}}
{{- define "evergrove.env" -}}
{{- if .Values.redis.passwordSecret.name }}
- name: EVERGROVE_REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .Values.redis.passwordSecret.name }}
      key: {{ .Values.redis.passwordSecret.key }}
{{- end }}
{{- if .Values.redis.caSecret.name }}
- name: EVERGROVE_REDIS_CA
  value: /redis-ca/{{ .Values.redis.caSecret.key }}
{{- end }}
{{- range $name, $value := .Values.objects.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "evergrove.envFrom" -}}
{{- with .Values.objects.secret }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
{{- end }}

{{/* The certificates of the authorities for Redis, as a volume and its mount. */}}
{{- define "evergrove.caVolume" -}}
{{- with .Values.redis.caSecret.name }}
- name: redis-ca
  secret:
    secretName: {{ . }}
{{- end }}
{{- end }}

{{- define "evergrove.caMount" -}}
{{- if .Values.redis.caSecret.name }}
- name: redis-ca
  mountPath: /redis-ca
  readOnly: true
{{- end }}
{{- end }}
