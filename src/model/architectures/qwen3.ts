/** Qwen3: Qwen2 with an RMS norm of each head in place of biases. Yang et al. 2025, arXiv:2505.09388. */
import {z} from 'zod'
import {parseWith} from '../../results/journal/parse-record.js'
import {type Architecture, count} from '../architecture.js'
import {LLAMA_WEIGHTS, llamaLike} from './llama.js'
import {qwenFields, windowOf} from './qwen2.js'

const fields = qwenFields.extend({
  head_dim: count.default(128),
  attention_bias: z.boolean().nullish(),
})

export default {
  types: ['qwen3'],
  classes: /^Qwen3(Model|For)/,
  weights: {...LLAMA_WEIGHTS, switches: ['attention_bias']},
  read(file, json) {
    const c = parseWith(fields, json, file, 'the configuration of a Qwen3-like model')
    const attention = c.attention_bias ?? false
    return llamaLike(file, c, {
      biases: {rows: attention, output: attention, feedForward: false},
      headNorms: true,
      window: windowOf(file, c),
    })
  },
} satisfies Architecture
