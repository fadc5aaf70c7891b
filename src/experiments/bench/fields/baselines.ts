/** The exact forms that every benchmark is measured against. */
export const BASELINES: readonly string[] = ['softmax', 'softmax-online']

/** What passes values through: a layer with it does all but attention. */
export const PASS_THROUGH = 'identity'

/** The exact form over a cache of keys and values: both decode alike. */
export const CACHED = 'softmax'

/** The exact form that a whole model has as its own attention. */
export const MODELS_OWN = 'softmax-online'

/**
 * Baselines of a mode in addition to its methods: one for a decode, as both exact forms decode alike over a cache
 * of keys and values; for a layer also the layer without attention, and for a model the model as it is and without attention.
 */
export function baselinesOf(mode: 'decode' | 'layer' | 'model' | undefined): readonly string[] {
  if (mode === 'model') return [MODELS_OWN, PASS_THROUGH]
  if (mode === 'layer') return [...BASELINES, PASS_THROUGH]
  return mode === 'decode' ? [CACHED] : BASELINES
}
