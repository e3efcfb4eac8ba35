import { Button, CopyButton, Group, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo, useState, type ReactElement } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { NotFound } from "../../app/not-found.tsx";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { DocsFrame } from "./docs-frame.tsx";
import { chosenBlocks, modelOfGuide } from "./guide-blocks.ts";
import { GUIDES } from "./guide-list.ts";
import { KeyChoice } from "./key-choice.tsx";
import { readBlocks, slugOf } from "./markdown-blocks.ts";
import { MarkdownView } from "./markdown-view.tsx";

export function GuidePage(): ReactElement {
  const { page } = useParams({ strict: false });
  const found = GUIDES.find(([name]) => name === page);
  return found === undefined ? <NotFound /> : <Guide name={found[0]} title={found[1]} />;
}

function Guide({ name, title }: { readonly name: string; readonly title: string }): ReactElement {
  const text = useQuery<string>({
    queryKey: ["guide", name],
    queryFn: ({ signal }) => readGuide(name, signal),
  });
  const sections = readBlocks(text.data ?? "").flatMap((block) =>
    block.kind === "heading" && block.level > 1
      ? [{ id: slugOf(block.text), label: block.text }]
      : [],
  );
  return (
    <DocsFrame
      title={title}
      sections={sections}
      actions={text.data === undefined ? null : <CopyMarkdown text={text.data} />}
    >
      {text.data === undefined ? null : <GuideView text={text.data} />}
      {text.isError ? <Fault error={text.error} retry={() => void text.refetch()} /> : null}
      {text.isPending ? <Loading rows={6} /> : null}
      <Neighbours name={name} />
    </DocsFrame>
  );
}

function GuideView({ text }: { readonly text: string }): ReactElement {
  const blocks = useMemo(() => readBlocks(text), [text]);
  const [rawKey, setRawKey] = useState("");
  const [wanted, setWanted] = useState<string>();
  const own = modelOfGuide(blocks);
  const models = useAnswer("GET /api/catalog.json").data?.models ?? [];
  const sample = useSampleModel();
  const fitting = models.filter(({ modality }) => modality === own?.modality);
  const modelId = fitting.some(({ id }) => id === wanted)
    ? wanted
    : defaultModel(own, fitting, sample);
  const model =
    own === undefined || modelId === undefined || modelId === own.modelId
      ? undefined
      : { from: own.modelId, to: modelId };
  return (
    <>
      <Group align="flex-start" gap="md">
        {own === undefined || fitting.length === 0 ? null : (
          <NativeSelect
            label="Model"
            size="xs"
            w="22rem"
            maw="100%"
            value={modelId ?? ""}
            onChange={(event) => setWanted(event.currentTarget.value)}
            data={fitting.map(({ id }) => id)}
          />
        )}
        <KeyChoice rawKey={rawKey} onRawKey={setRawKey} />
      </Group>
      <MarkdownView blocks={chosenBlocks(blocks, { model, rawKey })} />
    </>
  );
}

function Neighbours({ name }: { readonly name: string }): ReactElement {
  const at = GUIDES.findIndex(([each]) => each === name);
  const [before, after] = [GUIDES[at - 1], GUIDES[at + 1]];
  return (
    <Group justify="space-between" component="nav" aria-label="Other guides">
      {before === undefined ? <span /> : <AppLink to={`/docs/${before[0]}`}>← {before[1]}</AppLink>}
      {after === undefined ? null : <AppLink to={`/docs/${after[0]}`}>{after[1]} →</AppLink>}
    </Group>
  );
}

function defaultModel(
  own: ReturnType<typeof modelOfGuide>,
  fitting: readonly { readonly id: string }[],
  sample: string,
): string | undefined {
  const ids = fitting.map(({ id }) => id);
  if (own !== undefined && ids.includes(own.modelId)) return own.modelId;
  return ids.includes(sample) ? sample : ids[0];
}

async function readGuide(name: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(`/docs/${name}.md`, { signal });
  if (!answer.ok) throw new Error("This guide could not be loaded. Try again.");
  return await answer.text();
}

function CopyMarkdown({ text }: { readonly text: string }): ReactElement {
  return (
    <CopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <Button variant="default" size="xs" onClick={copy}>
          {copied ? "Copied" : "Copy as Markdown"}
        </Button>
      )}
    </CopyButton>
  );
}
