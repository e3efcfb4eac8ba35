import { Anchor, Code, List, Text } from "@mantine/core";
import type { ReactElement } from "react";

import { REFUSALS } from "../../../src/kernel/core/refusals.ts";
import { useSession } from "../api/use-session.ts";
import { AppLink } from "../ui/app-link.tsx";
import { StatusBadge } from "../ui/badge.tsx";
import { Copyable } from "../ui/copyable.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Panel } from "../ui/panel.tsx";
import { sentence } from "../ui/sentence.ts";
import { DocsFrame } from "./docs/docs-frame.tsx";
import { Inline } from "./docs/markdown-view.tsx";
import { Facts } from "../ui/facts.tsx";

/** The page with which a programmer begins: addresses, routes, errors, limits. It needs no internet. */
export function DocsPage(): ReactElement {
  const { installation, unfunded_rpm } = useSession();
  const root = installation.gateway_url.replace(/\/+$/, "");
  return (
    <DocsFrame
      title="Docs"
      lead="One key and one balance for every model. Set your client's base URL to the address below."
    >
      <Addresses root={root} />
      <Text maw="75ch">
        Begin with the{" "}
        <AppLink to="/docs/$page" params={{ page: "quick-start" }}>
          quick start
        </AppLink>
        . Every route, field, header and error is in the{" "}
        <AppLink to="/docs/reference">API reference</AppLink>. For tools that read text there is{" "}
        <Anchor inherit href="/llms.txt">
          llms.txt
        </Anchor>
        ; each guide is also at its address with <Code>.md</Code>.
      </Text>
      <Errors />
      <Limits unfundedRpm={unfunded_rpm} />
      <StoredData />
      <ConsoleApi />
      {installation.is_local_sign_in ? <LocalSignIn /> : null}
    </DocsFrame>
  );
}

function Addresses({ root }: { readonly root: string }): ReactElement {
  return (
    <Panel title="Base URLs">
      <Facts
        facts={[
          ["OpenAI-compatible clients", <Copyable key="a" value={`${root}/v1`} label="base URL" />],
          ["Anthropic-compatible clients", <Copyable key="b" value={root} label="base URL" />],
          [
            "Key",
            <span key="key">
              <Code>authorization: Bearer tm_vk_…</Code> or <Code>x-api-key: tm_vk_…</Code>, made on
              the <AppLink to="/keys">keys page</AppLink>
            </span>,
          ],
          [
            "Model IDs",
            <span key="models">
              on the <AppLink to="/models">models page</AppLink>; for scripts:{" "}
              <Anchor inherit href="/api/models.json">
                /api/models.json
              </Anchor>
            </span>,
          ],
        ]}
      />
    </Panel>
  );
}

function Errors(): ReactElement {
  return (
    <Panel title="Errors">
      <Text size="sm" mb="md" maw="75ch">
        Every error names its class in the header <Code>x-tm-error-code</Code> and, in the body, in{" "}
        <Code>error.metadata.error_type</Code> (OpenAI shape) or <Code>error.error_type</Code>{" "}
        (Anthropic shape). Every answer has an <Code>x-request-id</Code>: the{" "}
        <AppLink to="/usage">usage page</AppLink> finds a request by it. A rejected request costs
        nothing.
      </Text>
      <DataTable
        caption="Error classes"
        columns={ERROR_COLUMNS}
        rows={ERROR_ROWS}
        rowKey={({ name }) => name}
      />
    </Panel>
  );
}

function Limits({ unfundedRpm }: { readonly unfundedRpm: number }): ReactElement {
  return (
    <Panel title="Limits">
      <List size="sm" spacing="xs" maw="75ch">
        <List.Item>
          Until your organization has credit, all of its keys combined can send {unfundedRpm}{" "}
          requests per minute.
        </List.Item>
        <List.Item>
          Each key has its own ceiling: 20 requests per minute for the trial key, 300 for keys you
          create. You can lower these limits but not raise them.
        </List.Item>
        <List.Item>
          Monthly caps on a key or the organization are hard: a request that could exceed one is
          rejected. Months are in UTC.
        </List.Item>
        <List.Item>
          Your balance must cover the maximum cost of all requests in progress. What a request does
          not use is released when it ends.
        </List.Item>
        <List.Item>
          A request body can be at most 10 MB, or 1 MB for videos and decisions.
        </List.Item>
        <List.Item>
          Your current limits are on the <AppLink to="/limits">limits page</AppLink>.
        </List.Item>
      </List>
    </Panel>
  );
}

function StoredData(): ReactElement {
  return (
    <Panel title="Prompts and answers">
      <Text size="sm" maw="75ch">
        Prompts and answers are in memory only while a request runs. Only IDs, token counts, times,
        and prices are stored. The page of each model says what its providers do with prompts.
      </Text>
    </Panel>
  );
}

function ConsoleApi(): ReactElement {
  return (
    <Panel title="Console API">
      <Text size="sm" maw="75ch">
        Everything on these pages uses the console's API, described by{" "}
        <Anchor inherit href="/api/openapi.json">
          its OpenAPI document
        </Anchor>
        . It uses your browser session instead of a key. The lists of models and providers are
        public.
      </Text>
    </Panel>
  );
}

function LocalSignIn(): ReactElement {
  return (
    <Panel title="Local sign-in">
      <Text size="sm" maw="75ch">
        Sign-in on this installation uses links printed by a command (
        <Code>tokenmarket console-link</Code>). It is meant for a single machine. To let other
        people sign in, the operator configures an OpenID Connect provider with{" "}
        <Code>oidc.issuer</Code> and <Code>oidc.client_id</Code> and restarts the program.
      </Text>
    </Panel>
  );
}

const ERROR_ROWS = Object.entries(REFUSALS).map(([name, row]) => ({ name, ...row }));
const ERROR_COLUMNS: readonly Column<(typeof ERROR_ROWS)[number]>[] = [
  { id: "class", label: "Class", render: ({ name }) => <Code>{name}</Code> },
  { id: "status", label: "Status", render: ({ status }) => status },
  {
    id: "retry",
    label: "Retryable",
    render: ({ retryable }) => (
      <StatusBadge tone={retryable ? "ok" : "quiet"}>{retryable ? "Yes" : "No"}</StatusBadge>
    ),
  },
  { id: "when", label: "When", render: ({ condition }) => <Inline text={sentence(condition)} /> },
  { id: "todo", label: "What to do", render: ({ advice }) => <Inline text={sentence(advice)} /> },
];
