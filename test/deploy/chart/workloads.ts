import type { ChartObject, KubernetesObject } from "./render-chart.ts";

type Labels = Readonly<Record<string, string>>;

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext: object;
}

interface ProjectedSecret {
  readonly secret: {
    readonly name: string;
    readonly items: readonly { readonly key: string; readonly path: string }[];
  };
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly projected?: { readonly sources: readonly ProjectedSecret[] };
}

interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly enableServiceLinks: boolean;
    readonly securityContext: object;
    readonly serviceAccountName?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly Container[];
    readonly volumes: readonly Volume[];
  };
}

/** What runs pods: the gateway, the migration, the commands at fixed times. */
export interface Workload {
  readonly object: KubernetesObject;
  readonly pod: PodTemplate;
  readonly container: Container;
}

interface WorkloadSpec {
  readonly template?: PodTemplate;
  readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } };
}

export function workloadsOf(objects: readonly ChartObject[]): readonly Workload[] {
  return objects.flatMap(({ value: object }) => {
    const spec = (object["spec"] ?? {}) as WorkloadSpec;
    const pod = spec.template ?? spec.jobTemplate?.spec.template;
    const container = pod?.spec.containers[0];
    return pod === undefined || container === undefined ? [] : [{ object, pod, container }];
  });
}

/** The value of an environment variable of a container. */
export function environmentOf({ container }: Workload, name: string): string | undefined {
  return container.env.find((each) => each.name === name)?.value;
}
