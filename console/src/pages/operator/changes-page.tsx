import { Group } from "@mantine/core";

import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { column } from "../../ui/columns.tsx";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Panel } from "../../ui/page.tsx";
import { OperatorPage } from "./operator-frame.tsx";
import { OrgLink } from "./desk-page.tsx";
import { CHANGES } from "./organization-tables.tsx";

export function OperatorChangesPage() {
  const [{ before }] = useFilters<{ before?: string }>();
  const found = useAnswer("GET /api/operator/changes", { query: { before } });
  return (
    <OperatorPage title="Changes">
      <Panel>
        <Answer of={found} rows={12}>
          {({ data, next_before: next }) => (
            <>
              <DataTable
                caption="Changes"
                columns={[...CHANGES, ORGANIZATION]}
                rows={data}
                rowKey={({ position }) => String(position)}
                empty="No changes."
              />
              {next === null ? null : (
                <Group justify="center">
                  <LinkButton to="/operator/changes" search={{ before: next }}>
                    Older
                  </LinkButton>
                </Group>
              )}
            </>
          )}
        </Answer>
      </Panel>
    </OperatorPage>
  );
}

const ORGANIZATION = column(
  "org",
  "Organization",
  ({ org_id: orgId }: { readonly org_id: string | null }) =>
    orgId === null ? "–" : <OrgLink orgId={orgId} name="Open" />,
);
