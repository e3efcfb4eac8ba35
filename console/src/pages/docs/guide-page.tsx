import { Group, NativeSelect, PasswordInput, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { fetchOk } from "../../api/client.ts";
import { useAnswer, useSession } from "../../api/use-answer.ts";
import { NotFound } from "../../app/not-found.tsx";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { DocsFrame } from "./docs-frame.tsx";
import { chosenBlocks, modelOfGuide, isRawKey } from "./guide-call.ts";
import { GUIDES } from "./guide-list.ts";
import { readBlocks, slugOf } from "./markdown-blocks.ts";
import { MarkdownView } from "./markdown-view.tsx";
import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { toKeyStatus } from "../keys/match-keys.ts";
import { controlled } from "../../ui/fields.ts";
import { SmallButton } from "../../ui/buttons.tsx";
import { useCopy } from "../../ui/copyable.tsx";
import { Note } from "../../ui/page.tsx";

export function GuidePage() {
  const { page } = useParams({ strict: false });
  const found = GUIDES.find(([name]) => name === page);
  return found === undefined ? <NotFound /> : <Guide name={found[0]} title={found[1]} />;
}

function Guide({ name, title }: { readonly name: string; readonly title: string }) {
  const text = useQuery<string>({
    queryKey: ["guide", name],
    queryFn: ({ signal }) => fetchOk(`/docs/${name}.md`, { signal }, (answer) => answer.text()),
  });
  const { isCopied, copy } = useCopy();
  const sections = readBlocks(text.data ?? "").flatMap((block) =>
    block.kind === "heading" && block.level > 1
      ? [{ id: slugOf(block.text), label: block.text }]
      : [],
  );
  return (
    <DocsFrame
      title={title}
      sections={sections}
      actions={
        text.data === undefined ? null : (
          <SmallButton onClick={() => void copy(text.data)}>
            {isCopied ? "Copied" : "Copy as Markdown"}
          </SmallButton>
        )
      }
    >
      <Answer of={text} rows={6}>
        {/* The React key forgets a pasted key when the reader opens another guide. */}
        {(loaded) => <GuideView key={name} text={loaded} />}
      </Answer>
      <Neighbours name={name} />
    </DocsFrame>
  );
}

function GuideView({ text }: { readonly text: string }) {
  const blocks = useMemo(() => readBlocks(text), [text]);
  const [rawKey, setRawKey] = useState("");
  const [wanted, setWanted] = useState<string>();
  const own = modelOfGuide(blocks);
  const models = useAnswer("GET /api/catalog.json").data?.models ?? [];
  const sample = useSampleModel();
  const fitting = models.filter(({ modality }) => modality === own?.modality);
  // The reader's choice, else the guide's own model, else the sample model, else any that fits.
  const modelId =
    [wanted, own?.modelId, sample].find((each) => fitting.some(({ id }) => id === each)) ??
    fitting[0]?.id;
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
            {...controlled(modelId ?? "", setWanted)}
            data={fitting.map(({ id }) => id)}
          />
        )}
        <KeyChoice rawKey={rawKey} onRawKey={setRawKey} />
      </Group>
      <MarkdownView blocks={chosenBlocks(blocks, { model, rawKey })} />
    </>
  );
}

function Neighbours({ name }: { readonly name: string }) {
  const at = GUIDES.findIndex(([each]) => each === name);
  const [before, after] = [GUIDES[at - 1], GUIDES[at + 1]];
  return (
    <Group justify="space-between" component="nav" aria-label="Other guides">
      {before === undefined ? <span /> : <AppLink to={`/docs/${before[0]}`}>← {before[1]}</AppLink>}
      {after === undefined ? null : <AppLink to={`/docs/${after[0]}`}>{after[1]} →</AppLink>}
    </Group>
  );
}

const VARIABLE = "variable";
const PASTED = "pasted";

/** The page has no raw keys, so the reader can paste one. It is neither sent nor stored. */
function KeyChoice(props: {
  readonly rawKey: string;
  readonly onRawKey: (rawKey: string) => void;
}) {
  const isSignedIn = useSession().state === "signed_in";
  const keys = useAnswer("GET /api/console/keys", undefined, { enabled: isSignedIn });
  const [chosen, setChosen] = useState(VARIABLE);
  const [typed, setTyped] = useState("");
  const active = keys.data?.data.filter((each) => toKeyStatus(each) === "active") ?? [];
  const key = active.find(({ key_id: id }) => id === chosen);

  function choose(value: string): void {
    setChosen(value);
    setTyped("");
    props.onRawKey("");
  }
  function type(value: string): void {
    const text = value.trim();
    setTyped(text);
    props.onRawKey(isRawKey(text) ? text : "");
  }

  return (
    <Stack gap={4} miw={0} maw="min(60ch, 100%)">
      <NativeSelect
        label="Key in the code"
        size="xs"
        w="22rem"
        maw="100%"
        {...controlled(chosen, choose)}
        data={[
          { value: VARIABLE, label: `$${KEY_VARIABLE}` },
          ...active.map(({ key_id: value, name, label }) => ({
            value,
            label: `${name} (${label}…)`,
          })),
          { value: PASTED, label: "Paste a key" },
        ]}
      />
      {chosen === PASTED ? (
        <PasswordInput
          label="Pasted key"
          description="Stays in this page's memory. It is not sent or saved, and is gone when you leave this page."
          size="xs"
          w="22rem"
          maw="100%"
          autoComplete="off"
          {...controlled(typed, type)}
          error={
            typed === "" || isRawKey(typed)
              ? undefined
              : "Enter a whole key. It begins with tm_vk_."
          }
        />
      ) : (
        <Note>
          {key === undefined
            ? `Set one of your keys as the environment variable ${KEY_VARIABLE}.`
            : `Set your key “${key.name}”, which begins with ${key.label}, as the environment variable ${KEY_VARIABLE}. It was shown once, when it was created.`}
        </Note>
      )}
    </Stack>
  );
}
