/** The types of the console's API, as the server defines them. */
export type * from "../../../src/account/console-api/contract.ts";
