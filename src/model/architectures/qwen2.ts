/** Qwen2: Llama with biases of queries, keys and values, and windows in some layers. Yang et al. 2024, arXiv:2407.10671. */
import {z} from 'zod'
import {describe} from '../../errors.js'
import {parseWith} from '../../results/journal/parse-record.js'
import {type Architecture, count, unsupported} from '../architecture.js'
import {LLAMA_WEIGHTS, llamaFields, llamaLike} from './llama.js'

/** Fields that Qwen2 and Qwen3 share. */
export const qwenFields = llamaFields.extend({
  num_key_value_heads: count.nullable().default(32),
  use_sliding_window: z.boolean().nullish(),
  sliding_window: count.nullable().default(4096),
  max_window_layers: z.int().default(28),
  layer_types: z.array(z.string()).nullish(),
})

export default {
  types: ['qwen2'],
  classes: /^Qwen2(Model|For)/,
  weights: LLAMA_WEIGHTS,
  read(file, json) {
    const c = parseWith(qwenFields, json, file, 'the configuration of a Qwen2-like model')
    return llamaLike(file, c, {
      biases: {rows: true, output: false, feedForward: false},
      window: windowOf(file, c),
    })
  },
} satisfies Architecture

/** Tokens that queries of some layers see at most; `undefined` where every layer is without a window. */
export function windowOf(file: string, c: z.output<typeof qwenFields>): number | undefined {
  const known = ['full_attention', 'sliding_attention']
  const other = c.layer_types?.find(kind => !known.includes(kind))
  if (other !== undefined) {
    throw unsupported(file, `layer_types of ${known.join(', ')}`, describe(other))
  }
  const window = c.use_sliding_window ? c.sliding_window : null
  const windowed = c.layer_types
    ? c.layer_types.includes('sliding_attention')
    : window !== null && c.max_window_layers < c.num_hidden_layers
  if (!windowed) return undefined
  if (window !== null) return window
  const what = 'use_sliding_window and sliding_window for layers of sliding_attention'
  throw unsupported(file, what, 'none')
}
