/** Formats of the tables written at the end of a run, beside the journal. */
export const RUN_FORMATS = ['csv', 'json'] as const
export type RunFormat = (typeof RUN_FORMATS)[number]
