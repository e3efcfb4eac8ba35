import { Code, Text } from "@mantine/core";
import type { ReactElement } from "react";

import type { RequestDetail } from "../../../../src/account/console-api/contract.ts";
import kit from "../../ui/kit.module.css";
import { FactList } from "../models/fact-list.tsx";
import styles from "./usage.module.css";

/** The response headers, and the parameters that were not sent to the provider. */
export function AnswerHeaders({
  detail: { dropped_params: dropped, response_headers: headers },
}: {
  readonly detail: RequestDetail;
}): ReactElement | null {
  if (headers.length === 0) return null;
  return (
    <div className={styles.headers}>
      {dropped.length === 0 ? null : (
        <Text mb="md">
          Parameters that were dropped: <Code>{dropped.join(", ")}</Code>. They were not sent to the
          provider, which does not take them.
        </Text>
      )}
      <details className={kit.more}>
        <summary>Response headers ({headers.length})</summary>
        <FactList
          facts={headers.map(({ name, value }) => ({ label: name, value: <Code>{value}</Code> }))}
        />
      </details>
    </div>
  );
}
