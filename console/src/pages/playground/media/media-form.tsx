import { Button, Group, Textarea, Stack } from "@mantine/core";
import { Sparkles, Square } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";

import type { Model } from "../../../api/contract.ts";
import { useMay } from "../../../api/use-answer.ts";
import { FaultTrouble } from "../gateway-trouble.tsx";
import { MediaCode } from "../media-code.tsx";
import { usePickedModel, type TabProps, useFreshBalance } from "../tab-props.ts";
import classes from "../playground.module.css";
import { controlled, submitting } from "../../../ui/fields.ts";
import { ModelField } from "../model-picker.tsx";
import type { ParameterValues } from "../chat/chat-types.ts";
import { ParameterField, withValue } from "../parameter-field.tsx";

export interface MediaCall {
  readonly body: Readonly<Record<string, unknown>> & { readonly prompt: string };
  readonly modelName: string;
  readonly signal: AbortSignal;
}

export function MediaForm(props: {
  readonly tab: TabProps;
  readonly title: string;
  readonly modality: Extract<Model["modality"], "image" | "video">;
  readonly placeholder: string;
  readonly example: string;
  /** Parameters of the model that get no field. */
  readonly hidden?: ReadonlySet<string>;
  /** Rejects if the call fails or is aborted. */
  readonly make: (call: MediaCall) => Promise<void>;
  /** Renders the results. Gets the running call, if any, and whether the last call failed. */
  readonly children: (running: MediaCall | undefined, isFailed: boolean) => ReactNode;
}) {
  const { tab, modality, placeholder, make } = props;
  const [model, choose] = usePickedModel(tab);
  const [values, setValues] = useState<ParameterValues>({});
  const [prompt, setPrompt] = useState("");
  const [running, setRunning] = useState<MediaCall>();
  const [fault, setFault] = useState<unknown>();
  const freshBalance = useFreshBalance();
  const mayCall = useMay("keys");
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const isBlank = prompt.trim() === "";
  // A call for a video cannot be stopped: its job would continue, and nobody would know its ID.
  const canStop = modality === "image";

  const bodyOf = (text: string) => ({
    model: model.id,
    prompt: text,
    ...declaredValues(model, values),
  });
  async function send(): Promise<void> {
    const { signal } = (abort.current = new AbortController());
    const call = { body: bodyOf(prompt), modelName: model.name, signal };
    setRunning(call);
    setFault(undefined);
    try {
      await make(call);
    } catch (error) {
      if (!signal.aborted) setFault(error);
    } finally {
      setRunning(undefined);
      freshBalance();
    }
  }

  return (
    <div className={classes.split}>
      <section className={classes.main} aria-label={props.title}>
        <form className={`${classes.composer} ${classes.pinned}`} {...submitting(send)}>
          <Textarea
            label="Prompt"
            placeholder={placeholder}
            {...controlled(prompt, setPrompt)}
            maxRows={8}
            required
            withAsterisk={false}
          />
          <Group justify="flex-end" gap="xs">
            <MediaCode
              modality={modality}
              bodyOf={() => bodyOf(isBlank ? props.example : prompt)}
            />
            {running === undefined || !canStop ? (
              <Button
                type="submit"
                leftSection={<Sparkles size={14} aria-hidden />}
                loading={running !== undefined}
                disabled={isBlank || !mayCall}
              >
                Generate
              </Button>
            ) : (
              <Button
                variant="default"
                leftSection={<Square size={14} aria-hidden />}
                onClick={() => abort.current?.abort()}
              >
                Stop
              </Button>
            )}
          </Group>
        </form>
        {fault === undefined ? null : <FaultTrouble fault={fault} />}
        {props.children(running, fault !== undefined)}
      </section>
      <aside className={classes.aside} data-open aria-label="Model and fields">
        <Stack gap="md">
          <ModelField models={tab.models} model={model} onChange={choose} />
          <Parameters model={model} values={values} onValues={setValues} hidden={props.hidden} />
        </Stack>
      </aside>
    </div>
  );
}

function Parameters(props: {
  readonly model: Model;
  readonly values: ParameterValues;
  readonly onValues: (values: ParameterValues) => void;
  readonly hidden: ReadonlySet<string> | undefined;
}) {
  const { model, values, onValues, hidden } = props;
  return Object.entries(model.parameters)
    .filter(([name, { type }]) => type !== "unknown" && hidden?.has(name) !== true)
    .map(([name, descriptor]) => (
      <ParameterField
        key={name}
        name={name}
        descriptor={descriptor}
        value={values[name]}
        onChange={(value) => onValues(withValue(values, name, value))}
      />
    ));
}

/** Leaves out values of parameters that this model lacks, and choices that its enums lack. */
function declaredValues(model: Model, values: ParameterValues): ParameterValues {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => {
      const descriptor = model.parameters[name];
      if (descriptor === undefined) return false;
      return descriptor.type !== "enum" || descriptor.values?.includes(String(value)) === true;
    }),
  );
}
