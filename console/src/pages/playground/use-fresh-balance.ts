import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { refreshAnswers } from "../../api/use-answer.ts";

/** Reads the balance of the header again: after a call that was paid for. */
export function useFreshBalance(): () => void {
  const client = useQueryClient();
  return useCallback(() => void refreshAnswers(client, []), [client]);
}
