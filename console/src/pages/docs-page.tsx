import { Anchor, Code, Text } from "@mantine/core";

import { useSession } from "../api/use-answer.ts";
import { AppLink } from "../ui/app-link.tsx";
import { Copyable } from "../ui/copyable.tsx";
import { Panel } from "../ui/page.tsx";
import { DocsFrame } from "./docs/docs-frame.tsx";
import { Facts } from "../ui/facts.tsx";

export function DocsPage() {
  const { installation } = useSession();
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
      <Panel title="Prompts and answers">
        <Text size="sm" maw="75ch">
          Prompts and answers are in memory only while a request runs. Only IDs, token counts,
          times, and prices are stored. The page of each model says what its providers do with
          prompts.
        </Text>
      </Panel>
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
      {installation.is_local_sign_in ? (
        <Panel title="Local sign-in">
          <Text size="sm" maw="75ch">
            Sign-in on this installation uses links printed by a command (
            <Code>tokenmarket console-link</Code>). It is meant for a single machine. To let other
            people sign in, the operator configures an OpenID Connect provider with{" "}
            <Code>oidc.issuer</Code> and <Code>oidc.client_id</Code> and restarts the program.
          </Text>
        </Panel>
      ) : null}
    </DocsFrame>
  );
}

function Addresses({ root }: { readonly root: string }) {
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
