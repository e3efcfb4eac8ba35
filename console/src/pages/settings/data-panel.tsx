import { Button, Stack, Text } from "@mantine/core";
import { Download } from "lucide-react";
import type { ReactElement } from "react";

import { buildAddress } from "../../api/client.ts";
import { useSession } from "../../api/use-session.ts";
import { Support } from "../../app/support.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Panel } from "../../ui/panel.tsx";

export function DataPanel(): ReactElement {
  const { installation } = useSession();
  return (
    <Panel title="Your data">
      <Stack gap="md" align="flex-start">
        <Text size="sm">
          The file contains everything stored about your organization except its{" "}
          <AppLink to="/usage" inherit>
            requests
          </AppLink>
          ,{" "}
          <AppLink to="/billing/statements" inherit>
            monthly statements
          </AppLink>
          , and{" "}
          <AppLink to="/settings/changes" inherit>
            changes
          </AppLink>
          , which you can download on their pages. Prompts and answers are not stored.
        </Text>
        <Button
          component="a"
          href={buildAddress("/api/console/export.json")}
          download
          variant="default"
          leftSection={<Download size={16} aria-hidden />}
        >
          Download as JSON
        </Button>
        {installation.support === null ? null : (
          <Text size="sm" c="dimmed">
            <Support support={installation.support} />
          </Text>
        )}
      </Stack>
    </Panel>
  );
}
