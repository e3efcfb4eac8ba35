import { Button, Code, List, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";

import type { AnswerOf } from "../../api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { column } from "../../ui/columns.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Banner } from "../../ui/banner.tsx";
import { controlled, submitting } from "../../ui/fields.ts";
import { formatCount } from "../../ui/format.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Fault } from "../../ui/answer.tsx";
import { Page, Panel } from "../../ui/page.tsx";

export function ForProvidersPage() {
  return (
    <Page
      title="For providers"
      lead="A listing is a contract: what it declares is checked, and requests go where it is kept."
    >
      <ManifestCheck />
      <Panel title="Check the endpoint">
        <Stack gap="sm">
          <Text size="sm">
            On your own machine, with your own key: it takes a minute or two and a few cents. The
            operator gives you the program’s file, which is in no public registry.
          </Text>
          <Code block tabIndex={0}>
            {RUN_CHECKS}
          </Code>
          <Text size="sm">
            <AppLink to="/providers">The providers here</AppLink> show their verdicts, with the
            findings of each check.
          </Text>
        </Stack>
      </Panel>
      <Panel title="What is checked">
        <Facts facts={CHECKS} />
      </Panel>
      <Panel title="What follows">
        <List size="sm" spacing="xs">
          <List.Item>
            A listing that passes is “Verified”, and is tried in the order of its priority and
            price.
          </List.Item>
          <List.Item>
            One that fails a check is “Failed”: it is tried last, buyers see the verdict and its
            findings, and those who ask for verified listings only never reach it.
          </List.Item>
          <List.Item>
            C12 only warns: it says how an endpoint was in these minutes. The listing is “Verified
            in part”.
          </List.Item>
          <List.Item>
            Live answers that break the listing (another model, usage that does not add up) make it
            suspect at once, until a new run has passed.
          </List.Item>
          <List.Item>
            What you are owed is the use of each request at your own prices, by the interval of your
            manifest; the operator pays it, and compares your statement line by line.
          </List.Item>
        </List>
      </Panel>
    </Page>
  );
}

const RUN_CHECKS = `npm install ./tokenmarket-0.1.0.tgz
npx --no-install tokenmarket manifest check lab.json
npx --no-install tokenmarket conformance run lab.json`;

type Checked = AnswerOf<"POST /api/manifest-check">;

function ManifestCheck() {
  const [text, setText] = useState("");
  const check = useChange("POST /api/manifest-check");
  return (
    <Panel title="Check a manifest">
      <form {...submitting(() => check.mutate({ body: { manifest: text } }))}>
        <Stack gap="md" align="flex-start">
          <Textarea
            label="Manifest"
            description="At most 65,536 characters. It is not kept, and your endpoint is not called."
            placeholder={'{ "manifest_version": "1", "provider": { … }, "models": [ … ] }'}
            minRows={8}
            maxRows={20}
            maxLength={65_536}
            spellCheck={false}
            w="100%"
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
            {...controlled(text, setText)}
          />
          <Button type="submit" loading={check.isPending} disabled={text.trim() === ""}>
            Check manifest
          </Button>
          {check.isError ? <Fault error={check.error} /> : null}
          {check.data === undefined ? null : <Verdict checked={check.data} />}
        </Stack>
      </form>
    </Panel>
  );
}

function Verdict({ checked }: { readonly checked: Checked }) {
  const { listings, problems, found } = checked;
  if (listings !== null) {
    const many = listings === 1 ? "1 listing" : `${formatCount(listings)} listings`;
    return <Banner tone="info">This manifest is well formed: {many}. Run the checks next.</Banner>;
  }
  return (
    <Stack gap="sm" w="100%">
      <Text size="sm" fw={600}>
        {found === 1 ? "1 problem" : `${formatCount(found)} problems`}
        {found > problems.length ? `, the first ${problems.length} of them` : ""}
      </Text>
      <DataTable
        caption="Problems of the manifest"
        columns={PROBLEMS}
        rows={problems}
        rowKey={({ pointer, rule, message }) => `${pointer} ${rule} ${message}`}
      />
    </Stack>
  );
}

const PROBLEMS: readonly Column<Checked["problems"][number]>[] = [
  column("place", "Place", ({ pointer }) => (pointer === "" ? "The whole text" : pointer)),
  column("message", "Problem", ({ message }) => message),
  column("rule", "Rule", ({ rule }) => rule),
];

const CHECKS: readonly (readonly [string, string])[] = [
  ["C1 Reachability", "It answers with your key, and refuses a wrong one."],
  ["C2 Whole answers", "An answer in one piece has the shape of its wire."],
  ["C3 Streams", "A stream has the shape of its wire, and ends with its usage."],
  ["C4 Usage", "What is billed adds up, and is what the text has."],
  ["C5 Finish reasons", "An answer says truly why it ended."],
  ["C6 Tools and formats", "Declared tools and formats are used as they were asked for."],
  ["C7 No substitution", "The model that answers is the one that is listed."],
  ["C8 Errors", "A wrong request is refused, in the shape of the wire."],
  ["C9 Output bound", "No answer is longer than was asked for."],
  ["C10 Inputs", "Every declared kind of input is read."],
  ["C11 Modality", "Images, videos and decisions are what was asked for."],
  ["C12 Stability", "Latency and broken answers in these minutes. It only warns."],
];
