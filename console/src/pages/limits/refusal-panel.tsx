import { Button, Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { controlled, submitting } from "../../ui/fields.ts";
import { Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { RefusalReasons } from "../usage/refusal-reasons.tsx";

/** Explains a refusal. The request's ID is in the page's URL, so that the page can be shared. */
export function RefusalPanel() {
  const [filters, setFilters] = useFilters<{ refused?: string }>();
  const asked = filters.refused ?? "";
  const [typed, setTyped] = useState(asked);
  return (
    <Panel title="Why was my request rejected?">
      <Stack gap="md">
        <form {...submitting(() => setFilters({ refused: typed.trim() }))}>
          <Group align="flex-end" gap="sm">
            <TextInput
              label="Request ID"
              description="From the x-request-id response header or the error body."
              spellCheck={false}
              maxLength={200}
              style={{ flex: "1 1 16rem", maxWidth: "28rem" }}
              {...controlled(typed, setTyped)}
            />
            <Button type="submit" variant="default">
              Explain
            </Button>
          </Group>
        </form>
        {asked === "" ? null : <Explanation key={asked} requestId={asked} />}
      </Stack>
    </Panel>
  );
}

function Explanation({ requestId }: { readonly requestId: string }) {
  const answer = useAnswer("GET /api/console/refusals/:request_id", {
    params: { request_id: requestId },
  });
  return (
    <div aria-live="polite">
      <Answer of={answer} rows={2}>
        {(refusal) => (
          <Stack gap={6}>
            <RefusalReasons refusal={refusal} />
            <Text size="sm" c="dimmed" component="div">
              <Code>{refusal.error_class}</Code> at <Time at={refusal.at} precision="second" />.{" "}
              <AppLink to="/requests/$requestId" params={{ requestId: refusal.request_id }}>
                View request
              </AppLink>
            </Text>
          </Stack>
        )}
      </Answer>
    </div>
  );
}
