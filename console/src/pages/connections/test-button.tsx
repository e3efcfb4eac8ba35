import { Button, Popover, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";

import type { AnswerOf, Connection } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Fault } from "../../ui/fault.tsx";
import { useSubmission } from "../keys/use-submission.ts";

type TestAnswer = AnswerOf<"POST /api/console/connections/:connection_id/test">;

export function TestButton({ connection }: { readonly connection: Connection }): ReactNode {
  const submission = useSubmission();
  const [answer, setAnswer] = useState<TestAnswer>();
  const [isShown, setIsShown] = useState(false);
  const test = (): void => {
    setAnswer(undefined);
    setIsShown(false);
    submission.run(async () => {
      try {
        const params = { connection_id: connection.connection_id };
        setAnswer(await call("POST /api/console/connections/:connection_id/test", { params }));
      } finally {
        setIsShown(true);
      }
    });
  };
  return (
    <Popover opened={isShown} onChange={setIsShown} width={300} withArrow trapFocus={false}>
      <Popover.Target>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Test ${connection.name}`}
          loading={submission.isBusy}
          onClick={test}
        >
          Test
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <div role="status">
          {submission.fault === undefined ? null : <Fault error={submission.fault} />}
          {answer === undefined ? null : <TestResult answer={answer} />}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}

function TestResult({ answer }: { readonly answer: TestAnswer }): ReactNode {
  return (
    <>
      <StatusBadge tone={answer.ok ? "ok" : "bad"}>
        {answer.ok ? "Accepted by the provider" : "Rejected by the provider"}
      </StatusBadge>
      <Text size="sm" mt="xs" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>
        {answer.message}
      </Text>
    </>
  );
}
