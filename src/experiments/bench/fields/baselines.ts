/** The exact forms that every benchmark is measured against. */
export const BASELINES: readonly string[] = ['softmax', 'softmax-online']

/** What passes values through: a layer with it does all but attention. */
export const PASS_THROUGH = 'identity'

/**
 * Those beside the methods of a mode: of a decode one, as both decode alike, over a cache of keys and values; of a layer also
 * the one that has no attention.
 */
export function baselinesOf(mode: 'decode' | 'layer' | undefined): readonly string[] {
  if (mode === 'layer') return [...BASELINES, PASS_THROUGH]
  return mode === 'decode' ? BASELINES.slice(0, 1) : BASELINES
}
