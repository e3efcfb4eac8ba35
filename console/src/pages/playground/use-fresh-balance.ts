import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { refreshAnswers } from "../../api/use-answer.ts";

/** Returns a function that reads the balance in the header again, for use after a paid call. */
export function useFreshBalance(): () => void {
  const client = useQueryClient();
  return useCallback(() => void refreshAnswers(client, []), [client]);
}
