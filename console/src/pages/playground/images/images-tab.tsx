import { Button, Group, Skeleton, Stack, Text, Textarea } from "@mantine/core";
import { Download, Sparkles, Square } from "lucide-react";
import { useEffect, useRef, useState, type FormEvent, type ReactElement } from "react";

import type { Model } from "../../../../../src/console-api/contract.ts";
import { useSession } from "../../../api/use-session.ts";
import { Copyable } from "../../../ui/copyable.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { Money } from "../../../ui/money.tsx";
import { CallPanel, declaredValues, type FieldValues } from "../call-panel.tsx";
import { FaultTrouble } from "../gateway-trouble.tsx";
import { sendJson } from "../gateway.ts";
import { MediaCode } from "../media-code.tsx";
import { pickModel } from "../pick-model.ts";
import classes from "../playground.module.css";
import { useFreshBalance } from "../use-fresh-balance.ts";
import { picturesOf } from "./image-answer.ts";
import { CALLS_MAX, MEGABYTES_MAX, useImageCalls, type ImageCall } from "./use-image-calls.ts";

/** The page reads the files out of the answer itself, and a call makes whole answers only. */
const HIDDEN = new Set(["response_format", "stream", "partial_images"]);

/** Makes pictures from a text. */
export default function ImagesTab(props: {
  readonly models: readonly Model[];
  readonly modelIds: readonly string[];
  readonly onModels: (modelIds: readonly string[]) => void;
}): ReactElement {
  const { models } = props;
  const [modelIds, setModelIds] = useState(props.modelIds);
  const model = pickModel(models, modelIds);
  function choose(id: string): void {
    setModelIds([id]);
    props.onModels([id]);
  }
  const [values, setValues] = useState<FieldValues>({});
  const [prompt, setPrompt] = useState("");
  const orgId = useSession().org?.org_id ?? "";
  const { calls, add, isSaved } = useImageCalls(orgId);
  const [running, setRunning] = useState<number>();
  const [fault, setFault] = useState<unknown>();
  const freshBalance = useFreshBalance();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault();
    const declared = declaredValues(model, values);
    const controller = new AbortController();
    abort.current = controller;
    setRunning(typeof declared["n"] === "number" ? declared["n"] : 1);
    setFault(undefined);
    try {
      const body = { model: model.id, prompt, ...declared };
      const answer = await sendJson("/images/generations", { body, signal: controller.signal });
      add({
        prompt,
        modelName: model.name,
        pictures: picturesOf(answer.json, answer.requestId),
        costUsd: answer.costUsd,
        provider: answer.provider,
        requestId: answer.requestId,
      });
    } catch (error) {
      if (!controller.signal.aborted) setFault(error);
    } finally {
      setRunning(undefined);
      freshBalance();
    }
  }

  return (
    <div className={classes.split}>
      <section className={classes.main} aria-label="Images">
        <form
          className={`${classes.composer} ${classes.pinned}`}
          onSubmit={(event) => void make(event)}
        >
          <Textarea
            label="Prompt"
            placeholder="Describe the image"
            value={prompt}
            onChange={(event) => setPrompt(event.currentTarget.value)}
            autosize
            minRows={2}
            maxRows={8}
            required
            withAsterisk={false}
          />
          <Group justify="flex-end" gap="xs">
            <MediaCode
              modality="image"
              bodyOf={() => ({
                model: model.id,
                prompt: prompt.trim() === "" ? "A red bicycle on a white wall" : prompt,
                ...declaredValues(model, values),
              })}
            />
            {running === undefined ? (
              <Button
                type="submit"
                leftSection={<Sparkles size={14} aria-hidden />}
                disabled={prompt.trim() === ""}
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
        {running === undefined ? null : (
          <div className={classes.gallery} role="status" aria-label="Generating images">
            {Array.from({ length: running }, (_none, at) => (
              <Skeleton key={at} className={classes.waiting} />
            ))}
          </div>
        )}
        {calls.length === 0 && running === undefined && fault === undefined ? (
          <Empty title="Your images appear here. A request returns all of them or costs nothing." />
        ) : null}
        {calls.map((call) => (
          <Pictures key={call.id} call={call} />
        ))}
        <Text size="xs" c="dimmed">
          {isSaved
            ? `Your last ${CALLS_MAX} requests are kept in this browser, up to ${MEGABYTES_MAX} MB of images. Download the ones you want to keep for longer.`
            : "This browser cannot keep images. Download the ones you want to keep before you leave this page."}
        </Text>
      </section>
      <aside className={classes.aside} data-open aria-label="Model and fields">
        <CallPanel
          models={models}
          model={model}
          onModel={choose}
          values={values}
          onValues={setValues}
          hidden={HIDDEN}
        />
      </aside>
    </div>
  );
}

function Pictures({ call }: { readonly call: ImageCall }): ReactElement {
  return (
    <Stack gap="xs" component="article" aria-label={call.prompt}>
      <Text size="sm" className={classes.prose}>
        {call.prompt}
      </Text>
      <div className={classes.gallery}>
        {call.pictures.map(({ dataUrl, fileName }, at) => (
          <figure key={fileName} className={classes.picture}>
            <img src={dataUrl} alt={`${call.prompt}, image ${at + 1}`} />
            <figcaption>
              <Button
                component="a"
                href={dataUrl}
                download={fileName}
                variant="default"
                size="xs"
                leftSection={<Download size={14} aria-hidden />}
                aria-label={`Download image ${at + 1}`}
              >
                Download
              </Button>
            </figcaption>
          </figure>
        ))}
      </div>
      <Text size="xs" c="dimmed" component="div" className={classes.answerFigures}>
        <span>{call.modelName}</span>
        {call.provider === undefined ? null : <span>served by {call.provider}</span>}
        {call.costUsd === undefined ? null : (
          <span>
            cost <Money usd={call.costUsd} />
          </span>
        )}
        {call.requestId === undefined ? null : (
          <Copyable value={call.requestId} label="request ID" short />
        )}
      </Text>
    </Stack>
  );
}
