/** Mistral: Llama without biases, with a window where its configuration does not say that it has none. Jiang et al. 2023, arXiv:2310.06825. */
import {parseWith} from '../../results/journal/parse-record.js'
import {type Architecture, count} from '../architecture.js'
import {LLAMA_WEIGHTS, llamaFields, llamaLike} from './llama.js'

const fields = llamaFields.extend({
  num_key_value_heads: count.nullable().default(8),
  sliding_window: count.nullable().default(4096),
})

export default {
  types: ['mistral'],
  classes: /^Mistral(Model|For)/,
  weights: LLAMA_WEIGHTS,
  read(file, json) {
    const c = parseWith(fields, json, file, 'the configuration of a Mistral-like model')
    return llamaLike(file, c, {window: c.sliding_window ?? undefined})
  },
} satisfies Architecture
