/** The exact forms that every benchmark is measured against. */
export const BASELINES: readonly string[] = ['softmax', 'softmax-online']

/** Those beside the methods of a mode: both decode alike, over a cache of keys and values. */
export function baselinesOf(mode: 'decode' | undefined): readonly string[] {
  return mode === 'decode' ? BASELINES.slice(0, 1) : BASELINES
}
