import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Ajv } from "ajv";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { CHART, INSTALLATIONS, valuesOf } from "./chart/chart-fixture.ts";
import { mergedValues, renderChart } from "./chart/render-chart.ts";
import { type Fields, TEMPLATE_FUNCTIONS } from "./chart/template-functions.ts";

describe("a template may use only what the test renders as Helm does", () => {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-template-"));
  mkdirSync(join(folder, "templates"));
  writeFileSync(join(folder, "Chart.yaml"), "name: planted\nversion: 1.0.0\nappVersion: 1.0.0\n");
  afterAll(() => rmSync(folder, { recursive: true }));

  const rendering = (template: string, values: Fields = {}): unknown => {
    writeFileSync(join(folder, "values.yaml"), "a: { b: 1 }\non: 1\nlist: [x, y]\n");
    writeFileSync(join(folder, "templates/x.yaml"), template);
    return renderChart(folder, { name: "r", namespace: "n", values }).map(({ value }) => value);
  };

  test.each([
    ["a function", "\n\nx: {{ .Values.a.b | upper }}", "templates/x.yaml:3: upper is not in the"],
    ["with", "\n{{ with .Values.a }}\n{{ end }}", "templates/x.yaml:2: with is not in the subset"],
    ["an assignment", "{{ $x := 1 }}", "templates/x.yaml:1: not in the subset: :="],
    ["a raw text", "x: {{ `x` }}", "templates/x.yaml:1: an action is written on one line"],
    ["a template call", '{{ template "x" . }}', "template is not in the subset"],
    ["a number with a point", "x: {{ 1.5 }}", "templates/x.yaml:1:"],
    ["a missing value", "x: {{ .Values.a.c }}", "templates/x.yaml:1: there is no such value"],
    ["a field of nothing", "x: {{ .Values.c.d }}", ".Values.c.d: nothing has a field d"],
    ["a printed map", "x: {{ .Values.a }}", "a map or list is printed"],
    ["an unknown template", 'x: {{ include "y" . }}', "no template y"],
    ["an if without an end", "{{ if .Values.a }}\nx: 1\n", "what begins on line 1 has no end"],
    [
      "an end without a beginning",
      "x: 1\n{{ end }}",
      "templates/x.yaml:2: end without a beginning",
    ],
    ["a range of one name", "{{ range $x := .Values.list }}{{ end }}", "write: range $key, $value"],
    ["braces never closed", "x: {{ .Values.a.b", "{{ is never closed"],
    ["a broken text", "x: 1\n x: 2", "templates/x.yaml, rendered:"],
    ["a name given twice", "x: 1\nx: 2", "templates/x.yaml, rendered: Map keys must be unique"],
    ["what older YAML reads otherwise", "x: 0440", "means something else in YAML 1.1"],
    ["a word that older YAML takes for false", "x: no", "means something else in YAML 1.1"],
  ])("notices %s", (_what, template, message) => {
    expect(() => rendering(template)).toThrow(message);
  });

  test("notices a number that Go would print as a float", () => {
    expect(() => rendering("x: {{ .Values.big }}", { big: 1_000_000 })).toThrow("use int");
    expect(rendering("x: {{ int .Values.big }}", { big: 1_000_000 })).toEqual([{ x: 1_000_000 }]);
  });

  test("renders what is in the subset", () => {
    const template = [
      "{{- range $at, $each := .Values.list }}",
      'k{{ $at }}: {{ printf "%s-%s" $each $.Release.Name | quote }}',
      "{{- end }}",
      "{{- if and .Values.on (not .Values.off) }}",
      "b: {{ add .Values.on 2 }}",
      "{{- else if .Values.list }}",
      "b: 0",
      "{{- else }}",
      "b: none",
      "{{- end }}",
    ].join("\n");
    expect(rendering(template)).toEqual([{ k0: "x-r", k1: "y-r", b: 3 }]);
    expect(rendering(template, { on: null })).toEqual([{ k0: "x-r", k1: "y-r", b: 0 }]);
    expect(rendering(template, { on: null, list: [] })).toEqual([{ b: "none" }]);
  });

  test("knows no function that the chart does not use", () => {
    const text = readdirSync(join(CHART, "templates"))
      .map((file) => readFileSync(join(CHART, "templates", file), "utf8"))
      .join("\n");
    const used = (name: string): boolean => new RegExp(`[{(| ]${name} `).test(text);
    expect(Object.keys(TEMPLATE_FUNCTIONS).filter((name) => !used(name))).toEqual([]);
  });
});

describe("the schema of the values", () => {
  const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8")) as object;
  const validate = new Ajv({ allErrors: true }).compile(schema);
  const own = parse(readFileSync(join(CHART, "values.yaml"), "utf8")) as Fields;
  const problems = (values: Fields): string => {
    validate(mergedValues(own, values));
    return JSON.stringify(validate.errors ?? []);
  };

  test.each(INSTALLATIONS)("accepts the values: %s", (installation) => {
    expect(problems(valuesOf(installation))).toBe("[]");
  });

  test("knows every value that the chart has, and the chart every value that it knows", () => {
    const { properties } = schema as { readonly properties: Fields };
    expect(Object.keys(properties).sort()).toEqual(Object.keys(own).sort());
  });

  test.each([
    ["a typing error", { drian: { seconds: 60 } }, "drian"],
    ["one inside", { drain: { second: 60 } }, "second"],
    ["an unknown setting", { settings: { TM_PROT: "1" } }, "TM_PROT"],
    ["a setting of the chart's own", { settings: { TM_SHUTDOWN_GRACE_MS: "1" } }, "GRACE_MS"],
    ["a secret among the settings", { settings: { TM_ENCRYPTION_KEY: "x" } }, "TM_ENCRYPTION_KEY"],
    ["a setting that is not a text", { settings: { TM_LOG_LEVEL: 1 } }, "/settings/TM_LOG_LEVEL"],
    ["no database", { secrets: { DATABASE_URL: null } }, "DATABASE_URL"],
    ["a secret as a text", { secrets: { OPENAI_API_KEY: "sk-1" } }, "/secrets/OPENAI_API_KEY"],
    ["the name of a file", { secrets: { X_FILE: { secret: "x", key: "y" } } }, "X_FILE"],
    ["a manifest that is no JSON file", { manifests: { openai: "{}" } }, "propertyNames"],
    ["a label of a selector", { podLabels: { "app.kubernetes.io/name": "x" } }, "podLabels"],
    ["half a digest", { image: { digest: "sha256:abc" } }, "/image/digest"],
    ["seconds as a text", { drain: { seconds: "450s" } }, "/drain/seconds"],
  ])("refuses %s", (_what, values, word) => {
    expect(problems(values)).toContain(word);
  });
});
