{{/* Name of the objects of a release. */}}
{{- define "switchboard.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that never change: by them Services and policies find pods. */}}
{{- define "switchboard.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "switchboard.labels" -}}
{{ include "switchboard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "switchboard.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{- define "switchboard.serviceAccount" -}}
{{- default (ternary (include "switchboard.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "switchboard.keysClaim" -}}
{{- default (printf "%s-keys" (include "switchboard.fullname" .)) .Values.signingKeys.volume.existingClaim -}}
{{- end -}}

{{/* A duration as the configuration writes it (25s, 500ms, 1m, 25), in whole seconds. */}}
{{- define "switchboard.seconds" -}}
{{- $text := toString . -}}
{{- $unit := regexReplaceAll "^[0-9.]+" $text "" | default "s" -}}
{{- $per := get (dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0) $unit -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) $per | ceil -}}
{{- end -}}

{{/* How long a pod may take to stop: its pause, the node's own deadline, and a little more. */}}
{{- define "switchboard.gracePeriod" -}}
{{- $shutdown := default (dict) .Values.config.shutdown -}}
{{- $deadline := include "switchboard.seconds" (default "25s" $shutdown.deadline) | int -}}
{{- add .Values.preStopSeconds $deadline 5 -}}
{{- end -}}

{{/* switchboard.toml. JSON's texts, numbers and lists are TOML's, too; toToml would make 16 a 16.0. */}}
{{- define "switchboard.toml" -}}
{{- range $section, $keys := .Values.config }}
[{{ $section }}]
{{- range $key, $value := $keys }}
{{- if ne $value nil }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{ end }}
{{- end -}}
