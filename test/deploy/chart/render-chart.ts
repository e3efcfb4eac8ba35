import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { parse, parseAllDocuments } from "yaml";

import {
  type Fields,
  isFields,
  isTrue,
  printed,
  TEMPLATE_FUNCTIONS,
  type TemplateFunction,
} from "./template-functions.ts";
import {
  type Expression,
  parseTemplate,
  TemplateFault,
  type TemplateNode,
} from "./template-syntax.ts";

/** One object that the chart makes, and the template it comes from. */
export interface ChartObject {
  readonly file: string;
  readonly value: KubernetesObject;
}

export interface KubernetesObject extends Fields {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string } & Fields;
}

export interface ChartRelease {
  readonly name: string;
  readonly namespace: string;
  /** What the operator says; the chart's own values stand behind it. */
  readonly values?: Fields;
}

/** Renders a chart's templates as Helm does, and refuses what is outside the subset. */
export function renderChart(folder: string, release: ChartRelease): ChartObject[] {
  return new Chart(folder, release).objects();
}

/** What an operator reads after an installation. */
export function renderNotes(folder: string, release: ChartRelease): string {
  return new Chart(folder, release).text("NOTES.txt");
}

/** Values of an operator over those of the chart: maps are merged, `null` takes a key away. */
export function mergedValues(own: Fields, over: Fields): Fields {
  const merged: Record<string, unknown> = { ...own };
  for (const [name, value] of Object.entries(over)) {
    const before = merged[name];
    if (value === null) delete merged[name];
    else merged[name] = isFields(before) && isFields(value) ? mergedValues(before, value) : value;
  }
  return merged;
}

interface Scope {
  readonly root: unknown;
  readonly dot: unknown;
  readonly variables: ReadonlyMap<string, unknown>;
}

class Chart {
  readonly #templates = new Map<string, readonly TemplateNode[]>();
  readonly #defined = new Map<string, readonly TemplateNode[]>();
  readonly #root: Fields;

  constructor(folder: string, release: ChartRelease) {
    const read = (file: string): Fields =>
      parse(readFileSync(join(folder, file), "utf8")) as Fields;
    const chart = read("Chart.yaml");
    this.#root = {
      Chart: { Name: chart["name"], Version: chart["version"], AppVersion: chart["appVersion"] },
      Release: { Name: release.name, Namespace: release.namespace, Service: "Helm" },
      Values: mergedValues(read("values.yaml"), release.values ?? {}),
      Files: filesOf(folder),
    };
    for (const file of readdirSync(join(folder, "templates")).sort()) {
      const place = `templates/${file}`;
      const nodes = parseTemplate(place, readFileSync(join(folder, place), "utf8"));
      this.#templates.set(file, nodes);
      for (const node of nodes) {
        if (node.kind !== "define") continue;
        if (this.#defined.has(node.name))
          throw new Error(`${place}: ${node.name} is defined twice`);
        this.#defined.set(node.name, node.body);
      }
    }
  }

  objects(): ChartObject[] {
    const files = [...this.#templates.keys()].filter((file) => file.endsWith(".yaml"));
    return files.flatMap((file) =>
      documentsOf(file, this.text(file)).map((value) => ({ file, value })),
    );
  }

  text(file: string): string {
    return this.#render(this.#templates.get(file) ?? [], this.#scope(this.#root));
  }

  #scope(root: unknown): Scope {
    return { root, dot: root, variables: new Map() };
  }

  #render(nodes: readonly TemplateNode[], scope: Scope): string {
    return nodes.map((node) => this.#node(node, scope)).join("");
  }

  #node(node: TemplateNode, scope: Scope): string {
    switch (node.kind) {
      case "text":
        return node.text;
      case "define":
        return "";
      case "print":
        return located(node.value, () => printed(this.#value(node.value, scope)));
      case "if": {
        const taken = node.branches.find(
          ({ condition }) => condition === undefined || isTrue(this.#value(condition, scope)),
        );
        return this.#render(taken?.body ?? [], scope);
      }
      case "range": {
        const { key, value, over } = node.range;
        const rounds = entriesOf(this.#value(over, scope)).map(([name, each]) => {
          const variables = new Map([...scope.variables, [key, name], [value, each]]);
          return this.#render(node.body, { root: scope.root, dot: each, variables });
        });
        return rounds.join("");
      }
      default:
        return node satisfies never;
    }
  }

  #value(expression: Expression, scope: Scope): unknown {
    switch (expression.kind) {
      case "literal":
        return expression.value;
      case "field":
        return located(expression, () => fieldOf(expression, scope));
      case "method": {
        const method = this.#value(expression.field, scope);
        const args = expression.args.map((each) => this.#value(each, scope));
        return located(expression, () => {
          if (typeof method !== "function") throw new Error("only .Files takes arguments");
          return (method as TemplateFunction)(...args);
        });
      }
      case "call": {
        const args = expression.args.map((each) => this.#value(each, scope));
        return located(expression, () => this.#call(expression.name, args));
      }
      default:
        return expression satisfies never;
    }
  }

  #call(name: string, args: readonly unknown[]): unknown {
    if (name === "include") {
      const body = this.#defined.get(String(args[0]));
      if (body === undefined || args.length !== 2)
        throw new Error(`no template ${String(args[0])}`);
      return this.#render(body, this.#scope(args[1]));
    }
    const known = Object.hasOwn(TEMPLATE_FUNCTIONS, name) ? TEMPLATE_FUNCTIONS[name] : undefined;
    if (known === undefined) throw new Error(`${name} is not in the subset of this chart`);
    return known(...args);
  }
}

/** A map's entries in order of their names, as Go ranges over it; a list's with their numbers. */
function entriesOf(value: unknown): readonly (readonly [unknown, unknown])[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.map((each, at) => [BigInt(at), each]);
  if (!isFields(value)) throw new Error("a range needs a map or a list");
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

function fieldOf(expression: Expression & { readonly kind: "field" }, scope: Scope): unknown {
  const { from, path } = expression;
  let value: unknown = scope.variables.get(from);
  if (from === "") value = scope.dot;
  else if (from === "$") value = scope.root;
  else if (!scope.variables.has(from)) throw new Error(`there is no variable ${from}`);
  for (const name of path) {
    if (!isFields(value)) throw new Error(`.${path.join(".")}: nothing has a field ${name}`);
    value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** `.Files`: only files below `files`, by a pattern `folder/*.ending` or by their path. */
function filesOf(folder: string): Fields {
  const read = (path: unknown): string => readFileSync(join(folder, String(path)), "utf8");
  return {
    Get: read,
    Glob: (pattern: unknown) => {
      const [, inside, ending] = /^(files\/\w+)\/\*(\.\w+)$/.exec(String(pattern)) ?? [];
      if (inside === undefined || ending === undefined) throw new Error("write: files/x/*.y");
      const there = join(folder, inside);
      const names = existsSync(there) ? readdirSync(there) : [];
      const paths = names
        .filter((name) => name.endsWith(ending))
        .map((name) => `${inside}/${name}`);
      return Object.fromEntries(paths.map((path) => [path, read(path)]));
    },
  };
}

function located<T>(expression: Expression, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof TemplateFault) throw error;
    throw new TemplateFault(expression.at, error instanceof Error ? error.message : String(error));
  }
}

/** The objects of a rendered file. What older and newer readers of YAML take differently is refused. */
function documentsOf(file: string, text: string): KubernetesObject[] {
  const [older, newer] = (["1.1", "1.2"] as const).map((version) =>
    parseAllDocuments(text, { version, merge: false }).map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw new Error(`templates/${file}, rendered: ${error.message}`);
      return document.toJS() as KubernetesObject | null;
    }),
  );
  if (JSON.stringify(older) !== JSON.stringify(newer)) {
    throw new Error(`templates/${file}, rendered: means something else in YAML 1.1`);
  }
  return (newer ?? []).filter((value) => value !== null);
}
