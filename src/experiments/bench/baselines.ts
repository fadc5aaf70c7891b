/** The exact forms that every benchmark is measured against. */
export const BASELINES: readonly string[] = ['softmax', 'softmax-online']
