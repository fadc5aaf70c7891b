/** The exact forms that every benchmark is measured against. */
export const BASELINES: readonly string[] = ['softmax', 'softmax-online']

/** What passes values through: a layer with it does all but attention. */
export const PASS_THROUGH = 'identity'

/**
 * Baselines of a mode in addition to its methods: one for a decode, as both exact forms decode alike over a cache
 * of keys and values; for a layer also the layer without attention.
 */
export function baselinesOf(mode: 'decode' | 'layer' | undefined): readonly string[] {
  if (mode === 'layer') return [...BASELINES, PASS_THROUGH]
  return mode === 'decode' ? BASELINES.slice(0, 1) : BASELINES
}
