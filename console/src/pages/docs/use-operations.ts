import { useQuery } from "@tanstack/react-query";

import { fetchOk, readJson } from "../../api/client.ts";

/** The address of the OpenAPI document. */
export const OPENAPI = "/api/openapi-v1.json";

/**
 * The gateway's routes, from its OpenAPI document. The code that reads the document is loaded with
 * it, because most pages need both only for a search.
 */
export function useOperations(isWanted = true) {
  return useQuery({
    queryKey: ["openapi-v1"],
    queryFn: async ({ signal }) => {
      const [{ readOperations }, document] = await Promise.all([
        import("./openapi-rows.ts"),
        fetchOk(OPENAPI, { signal }, readJson),
      ]);
      return readOperations(document);
    },
    enabled: isWanted,
  });
}
