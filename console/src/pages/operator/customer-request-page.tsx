import { useParams } from "@tanstack/react-router";

import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { RequestParts, chooseTitle } from "../usage/request-page.tsx";
import { OperatorPage } from "./operator-frame.tsx";

/** A customer's request, as the customer sees it. The server records each view. */
export function OperatorRequestPage() {
  const { orgId = "", requestId = "" } = useParams({ strict: false });
  const asked = { params: { org_id: orgId, request_id: requestId } };
  const route = "GET /api/operator/organizations/:org_id/requests/:request_id";
  const detail = useAnswer(route, asked, { isRecorded: true });
  return (
    <OperatorPage
      title={chooseTitle(detail.data)}
      crumbs={[
        { label: "Operator", to: "/operator" },
        { label: "Organization", to: `/operator/organizations/${orgId}` },
      ]}
      lead={<Copyable value={requestId} label="request ID" />}
    >
      <Answer of={detail} rows={12}>
        {(data) => <RequestParts detail={data} />}
      </Answer>
    </OperatorPage>
  );
}
