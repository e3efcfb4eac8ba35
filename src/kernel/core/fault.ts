/** An error whose `name` is that of its class, which ends in `Fault`. */
export class Fault extends Error {
  override readonly name = this.constructor.name as `${string}Fault`;
}
