{{- /* The longest name behind it is that of a CronJob: 35 + 17 = 52 letters. */ -}}
{{- define "tokenmarket.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 35 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 35 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 35 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Labels of selectors: they can never change, so no version is in them. */ -}}
{{- define "tokenmarket.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "tokenmarket.labels" -}}
{{ include "tokenmarket.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- define "tokenmarket.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "tokenmarket.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "tokenmarket.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "tokenmarket.manifests" -}}
{{- .Values.manifestsConfigMap | default (printf "%s-manifests" (include "tokenmarket.fullname" .)) -}}
{{- end -}}

{{- /* Every pod has no token, no rights and no addresses of other services in its environment
(a release named "tm" would otherwise set TM_PORT). */ -}}
{{- define "tokenmarket.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- if .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml .Values.imagePullSecrets | nindent 2 }}
{{- end }}
{{- if .Values.nodeSelector }}
nodeSelector:
  {{- toYaml .Values.nodeSelector | nindent 2 }}
{{- end }}
{{- if .Values.tolerations }}
tolerations:
  {{- toYaml .Values.tolerations | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "tokenmarket.container" -}}
image: {{ include "tokenmarket.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
{{- end -}}

{{- define "tokenmarket.env" -}}
- name: TM_AUTO_MIGRATE
  value: "false"
- name: TM_SHUTDOWN_DELAY_MS
  value: {{ mul .Values.drain.delaySeconds 1000 | quote }}
- name: TM_SHUTDOWN_GRACE_MS
  value: {{ mul .Values.drain.seconds 1000 | quote }}
{{- range $name, $ref := .Values.secrets }}
{{- if $ref }}
- name: {{ printf "%s_FILE" $name | quote }}
  value: {{ printf "/run/secrets/tokenmarket/%s" $name | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name | quote }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "tokenmarket.mounts" -}}
- name: tmp
  mountPath: /tmp
- name: secrets
  mountPath: /run/secrets/tokenmarket
  readOnly: true
{{- if .Values.filesConfigMap }}
- name: files
  mountPath: /etc/tokenmarket/files
  readOnly: true
{{- end }}
{{- end -}}

{{- define "tokenmarket.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
- name: secrets
  projected:
    # 0440: the group of the pod's user reads them.
    defaultMode: 288
    sources:
      {{- range $name, $ref := .Values.secrets }}
      {{- if $ref }}
      - secret:
          name: {{ $ref.secret | quote }}
          items:
            - key: {{ $ref.key | quote }}
              path: {{ $name | quote }}
      {{- end }}
      {{- end }}
{{- if .Values.filesConfigMap }}
- name: files
  configMap:
    name: {{ .Values.filesConfigMap | quote }}
{{- end }}
{{- end -}}

{{- /* Whole folders are mounted, never single files: only then does a changed ConfigMap reach the pod. */ -}}
{{- define "tokenmarket.manifestsMount" -}}
- name: manifests
  mountPath: /etc/tokenmarket/manifests
  readOnly: true
{{- end -}}

{{- define "tokenmarket.manifestsVolume" -}}
- name: manifests
  configMap:
    name: {{ include "tokenmarket.manifests" . | quote }}
{{- end -}}
