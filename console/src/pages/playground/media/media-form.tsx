import { Button, Group, Textarea } from "@mantine/core";
import { Sparkles, Square } from "lucide-react";
import {
  useEffect,
  useRef,
  useState,
  type FormEvent,
  type ReactElement,
  type ReactNode,
} from "react";

import type { Model } from "../../../../../src/account/console-api/contract.ts";
import { useMay } from "../../../api/use-may.ts";
import { FaultTrouble } from "../gateway-trouble.tsx";
import { MediaCode } from "../media-code.tsx";
import { usePickedModel, type TabProps } from "../tab-props.ts";
import classes from "../playground.module.css";
import { useFreshBalance } from "../use-fresh-balance.ts";
import { controlled } from "../../../ui/controlled.ts";
import { CallPanel, declaredValues, type FieldValues } from "./call-panel.tsx";

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
  /** Parameters that the model declares but that get no field. */
  readonly hidden?: ReadonlySet<string>;
  /** Rejects with `GatewayFault`. */
  readonly make: (call: MediaCall) => Promise<void>;
  /** Renders the results. Gets the running call, if any, and whether the last call failed. */
  readonly children: (running: MediaCall | undefined, isFailed: boolean) => ReactNode;
}): ReactElement {
  const { tab, modality, placeholder, make } = props;
  const [model, choose] = usePickedModel(tab);
  const [values, setValues] = useState<FieldValues>({});
  const [prompt, setPrompt] = useState("");
  const [running, setRunning] = useState<MediaCall>();
  const [fault, setFault] = useState<unknown>();
  const freshBalance = useFreshBalance();
  const mayCall = useMay("keys");
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const isBlank = prompt.trim() === "";
  // A running video cannot be stopped: its job would continue, and nobody would know its ID.
  const canStop = modality === "image";

  async function send(event: FormEvent): Promise<void> {
    event.preventDefault();
    const { signal } = (abort.current = new AbortController());
    const body = { model: model.id, prompt, ...declaredValues(model, values) };
    const call = { body, modelName: model.name, signal };
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
        <form
          className={`${classes.composer} ${classes.pinned}`}
          onSubmit={(event) => void send(event)}
        >
          <Textarea
            label="Prompt"
            placeholder={placeholder}
            {...controlled(prompt, setPrompt)}
            autosize
            minRows={2}
            maxRows={8}
            required
            withAsterisk={false}
          />
          <Group justify="flex-end" gap="xs">
            <MediaCode
              modality={modality}
              bodyOf={() => ({
                model: model.id,
                prompt: isBlank ? props.example : prompt,
                ...declaredValues(model, values),
              })}
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
        <CallPanel
          models={tab.models}
          model={model}
          onModel={choose}
          values={values}
          onValues={setValues}
          {...(props.hidden === undefined ? {} : { hidden: props.hidden })}
        />
      </aside>
    </div>
  );
}
