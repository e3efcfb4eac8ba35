import { Button, CopyButton, NativeSelect, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { NotFound } from "../../app/not-found.tsx";
import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { GUIDES } from "./guide-list.ts";
import { readBlocks } from "./markdown-blocks.ts";
import { MarkdownView } from "./markdown-view.tsx";
import { statusOf } from "../keys/match-keys.ts";

/** One guide, from the same Markdown as in the repository, at this installation's address. */
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
  return (
    <Page
      title={title}
      crumbs={[{ label: "Docs", to: "/docs" }]}
      actions={text.data === undefined ? null : <CopyMarkdown text={text.data} />}
    >
      <KeyChoice />
      {text.data === undefined ? null : <MarkdownView blocks={readBlocks(text.data)} />}
      {text.isError ? <Fault error={text.error} retry={() => void text.refetch()} /> : null}
      {text.isPending ? <Loading rows={6} /> : null}
    </Page>
  );
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

/** Which of the reader's keys the examples run with: the console knows names, never the keys. */
function KeyChoice(): ReactElement {
  const isSignedIn = useSession().state === "signed_in";
  const keys = useAnswer("GET /api/console/keys", undefined, { enabled: isSignedIn });
  const [chosen, choose] = useState("");
  const active = keys.data?.data.filter((key) => statusOf(key) === "active") ?? [];
  const key = active.find(({ key_id }) => key_id === chosen) ?? active[0];
  return (
    <>
      {active.length < 2 ? null : (
        <NativeSelect
          label="Your key"
          size="xs"
          maw="22rem"
          value={key?.key_id ?? ""}
          onChange={(event) => choose(event.currentTarget.value)}
          data={active.map(({ key_id, name, label }) => ({
            value: key_id,
            label: `${name} (${label}…)`,
          }))}
        />
      )}
      <Text size="sm" c="dimmed">
        {key === undefined
          ? `Set one of your keys as the environment variable ${KEY_VARIABLE}.`
          : `Set your key "${key.name}", which begins with ${key.label}, as the environment variable ${KEY_VARIABLE}. It was shown once, when it was created.`}
      </Text>
    </>
  );
}
