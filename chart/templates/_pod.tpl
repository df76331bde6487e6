{{/* What all pods have in common. Each takes a dict of `root` and `role` (api, gateway, worker or owner). */}}

{{/* Which secrets a role is given: of the database its own login, keys only where they are used. */}}
{{- define "switchboard.hasSigningKeys" -}}
{{- if has .role (list "api" "gateway") }}true{{ end -}}
{{- end -}}

{{- define "switchboard.hasPushKey" -}}
{{- if has .role (list "api" "worker") }}true{{ end -}}
{{- end -}}

{{- define "switchboard.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .Values.runAsUser }}
runAsGroup: {{ .Values.runAsUser }}
fsGroup: {{ .Values.runAsUser }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "switchboard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "switchboard.env" -}}
{{- $values := .root.Values -}}
- name: SWITCHBOARD_CONFIG
  value: /etc/switchboard/switchboard.toml
- name: SWITCHBOARD__DATABASE__URL_FILE
  value: /run/secrets/switchboard/database-url
{{- if include "switchboard.hasSigningKeys" . }}
- name: SWITCHBOARD__SIGNING_KEY__DRIVER
  value: {{ $values.signingKeys.driver }}
{{- if eq $values.signingKeys.driver "postgres" }}
- name: SWITCHBOARD__SECRETS__SEAL_KEY_FILE
  value: /run/secrets/switchboard/seal-key
{{- else }}
- name: SWITCHBOARD__SECRETS__SIGNING_KEY_DIR
  value: /var/lib/switchboard/shared/keys
{{- end }}
{{- end }}
{{- if include "switchboard.hasPushKey" . }}
- name: SWITCHBOARD__PUSH__VAPID_KEY_DIR
  value: /run/secrets/switchboard-push
{{- end }}
{{- if $values.push.webhookSecret.secret }}
- name: SWITCHBOARD__PUSH__WEBHOOK_SECRET_FILE
  value: /run/secrets/switchboard/webhook-secret
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "switchboard.volumeMounts" -}}
{{- $values := .root.Values -}}
- name: config
  mountPath: /etc/switchboard
  readOnly: true
- name: secrets
  mountPath: /run/secrets/switchboard
  readOnly: true
{{- if and (include "switchboard.hasSigningKeys" .) (eq $values.signingKeys.driver "dir") }}
- name: signing-keys
  # Nodes make a directory of their own in it, since that of the volume itself is often open to all.
  mountPath: /var/lib/switchboard/shared
  readOnly: {{ ne .role "api" }}
{{- end }}
{{- if include "switchboard.hasPushKey" . }}
- name: push-key
  mountPath: /run/secrets/switchboard-push
  readOnly: true
{{- end }}
{{- with $values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* `configMap` beside: which one holds the configuration. */}}
{{- define "switchboard.volumes" -}}
{{- $values := .root.Values -}}
- name: config
  configMap:
    name: {{ .configMap }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ $values.database.secret }}
          items:
            - key: {{ get $values.database.keys .role }}
              path: database-url
      {{- if and (include "switchboard.hasSigningKeys" .) (eq $values.signingKeys.driver "postgres") }}
      - secret:
          name: {{ $values.signingKeys.sealKey.secret }}
          items:
            - key: {{ $values.signingKeys.sealKey.key }}
              path: seal-key
      {{- end }}
      {{- with $values.push.webhookSecret }}
      {{- if .secret }}
      - secret:
          name: {{ .secret }}
          items:
            - key: {{ .key }}
              path: webhook-secret
      {{- end }}
      {{- end }}
{{- if and (include "switchboard.hasSigningKeys" .) (eq $values.signingKeys.driver "dir") }}
- name: signing-keys
  persistentVolumeClaim:
    claimName: {{ include "switchboard.keysClaim" .root }}
{{- end }}
{{- if include "switchboard.hasPushKey" . }}
- name: push-key
  secret:
    secretName: {{ $values.push.key.secret }}
    defaultMode: 0440
    items:
      - key: {{ $values.push.key.key }}
        path: vapid.pem
{{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
