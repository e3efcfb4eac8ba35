/** The public part of a class: a port whose promises stand where they are kept. */
export type Public<C> = Pick<C, keyof C>;
