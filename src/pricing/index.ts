export { debitOf, exactCost, quoteImages, quoteWorstCase } from "./quote.ts";
