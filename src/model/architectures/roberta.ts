/** RoBERTa and XLM-RoBERTa: BERT with positions counted from behind the number of padding. Liu et al. 2019, arXiv:1907.11692. */
import {z} from 'zod'
import {expected} from '../../errors.js'
import {parseWith} from '../../results/journal/parse-record.js'
import type {Architecture} from '../architecture.js'
import {encoder} from '../encoder.js'
import {BERT_WEIGHTS, bertConfig, bertFields} from './bert.js'

const fields = bertFields.extend({pad_token_id: z.int().nonnegative().default(1)})

export default {
  types: ['roberta', 'xlm-roberta'],
  classes: /^(XLM)?Roberta(Model|For)/,
  weights: {...BERT_WEIGHTS, prefix: 'roberta.'},
  read(file, json) {
    const c = parseWith(fields, json, file, 'the configuration of a RoBERTa-like model')
    const {facts, ...config} = bertConfig(file, c)
    const maxTokens = c.max_position_embeddings - c.pad_token_id - 1
    if (maxTokens > 0) {
      return encoder({...config, facts: {...facts, maxTokens}, padding: c.pad_token_id})
    }
    const what = `max_position_embeddings above ${c.pad_token_id + 1}, pad_token_id and one more`
    throw expected('BAD_FILE', file, what, String(c.max_position_embeddings))
  },
} satisfies Architecture
