/** Records of learning, with round numbers. */
import type {CompletedTune, TuneResult} from '../../../src/experiments/tune/schema.js'

/** Draws of each layer. */
export const DRAWS = 3
/** Errors of variants in layer 0; others have a little more. */
const ERRORS = {
  ...{untuned: 0.96, tuned: 0.42, temperature: 0.74},
  ...{more_features: 0.75, oprf: 0.98, saderf: 0.97, mean_value: 0.93, zero: 1},
}
/** What a text adds to the error: the same in each variant. */
const TEXTS = [-0.02, -0.01, 0.01, 0.02]

/** Errors of all variants. */
function errorsIn(layer: number, draw: number): TuneResult['errors'] {
  return Object.entries(ERRORS).map(([variant, error]) => {
    const own = variant === 'zero' ? 1 : error + 0.01 * layer + 0.005 * draw
    const around = (more: number) => (variant === 'zero' ? 1 : own + more)
    const per_text = TEXTS.map(around)
    const squares = per_text.reduce((sum, one) => sum + one ** 2, 0)
    const rel_l2 = Math.sqrt(squares / TEXTS.length)
    const variant_num_features = variant === 'more_features' ? 1024 : 64
    return {
      variant: variant as keyof typeof ERRORS,
      ...{replicate: draw, variant_num_features, rel_l2},
      ...{per_head: [-0.01, 0.01].map(around), per_text},
    }
  })
}

function floats(numbers: number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

/** What was learned of one layer with one draw. @param layer - `undefined`: of no layer */
export function learned(
  layer: number | undefined,
  draw: number,
  own: Partial<TuneResult> = {},
): CompletedTune {
  const maps = floats([1, 0, 0, 1, 2, 0, 0, 2])
  return {
    ...{schema: 'rfa.tune/1', key: `${layer} ${draw}`, status: 'completed'},
    cell: {
      ...{method: 'favor-pos', preset: 'exact', options: {}, draw, learn: 'maps,rows'},
      ...{projection: 'orth', orth_sign: 'haar', num_features: 64},
      input: {
        kind: 'file',
        paths: ['layers.safetensors'],
        names: {query: 'q', key: 'k', value: 'v'},
      },
      ...(layer !== undefined && {layer}),
      ...{steps: 60, learning_rate: 0.01, held_out: 0.2, draws: DRAWS},
      ...{causal: false, seed: 0, backend: 'native'},
    },
    result: {
      ...{backend: 'native', instruction_set: 'avx512', threads: 1, processes: 2},
      ...{heads: 2, key_heads: 2, head_dim: 2, value_dim: 2, feature_dim: 64, logit_scale: 0.7},
      ...{held_out_by: 'texts', learned_texts: 48, learned_tokens: 4200},
      ...{held_out_texts: 4, held_out_tokens: 1045},
      text_weights: TEXTS.map(() => 1 / TEXTS.length),
      input_origin: null,
      ...{steps_taken: 60, best_step: 60, stopped: 'steps', seconds: 3.1},
      curve: [
        {step: 0, learned_error: 0.95, held_out_error: 0.96},
        {step: 60, learned_error: 0.4, held_out_error: 0.42},
      ],
      errors: errorsIn(layer ?? 0, draw),
      parameters: [
        {name: 'query_map', shape: [2, 2, 2], data: maps},
        {name: 'key_map', shape: [2, 2, 2], data: maps},
        {name: 'projection', shape: [2, 64, 2], data: floats(Array(256).fill(draw))},
      ],
      ...own,
    },
  }
}
