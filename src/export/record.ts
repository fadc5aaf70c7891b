/** The request of `rfa export`, and the record of what it wrote. */
import {z} from 'zod'
import type {BackendChoice} from '../backends/index.js'
import {engineBackend, engineFacts} from '../experiments/pretrained.js'
import type {LayerChoice} from '../inputs/layers.js'
import type {EngineChoice} from '../model/engine-names.js'
import {computedBy, nullableNumber} from '../results/record.js'

export interface ExportRequest {
  /** Folder as Hugging Face writes it. */
  model: string
  /** File with a text on each line, or folder with one in each .txt file. */
  texts: string
  maxTexts: number
  /** Tokens at which a text is cut. */
  maxTokens: number
  layers: LayerChoice
  output: string
  force: boolean
  backend: BackendChoice
  threads?: number | undefined
  /** What runs the model. Default: this program. */
  engine?: EngineChoice | undefined
  /** Of PyTorch, where Transformers runs it. Default: the processor. */
  device?: 'cpu' | 'cuda' | 'mps' | 'auto' | undefined
}

const exportedLayer = z.object({
  layer: z.int().describe('Number of the layer, from 0.'),
  path: z.string().describe('The file.'),
  residual_norm: nullableNumber.describe(
    'Root mean square length of the rows of the residual stream that attention is added to.',
  ),
})
export type ExportedLayer = z.infer<typeof exportedLayer>

/** What was written; `--json` prints it. */
export const exportRecord = z.object({
  schema: z.literal('rfa.export/1').describe('Name and version of this format.'),
  model: z.string().describe('Folder of the model.'),
  texts: z.string().describe('Texts that it read.'),
  texts_read: z.int().describe('How many of them: B.'),
  texts_left_out: z.int().describe('Texts that were left out: they have no token.'),
  tokens_read: z.int().describe('Their tokens, without padding.'),
  seq_len: z.int().describe('L, tokens of the longest; shorter texts are padded.'),
  heads: z.int().describe('H, heads of queries.'),
  key_heads: z.int().describe('Hkv, heads of keys and values.'),
  head_dim: z.int().describe('D.'),
  causal: z.boolean().describe('Query i sees the keys up to i only.'),
  logit_scale: z.number().describe('beta: logits are beta q.k.'),
  ...computedBy,
  backend: engineBackend,
  engine: engineFacts,
  layers: z.array(exportedLayer).min(1).describe('The layers, one file each.'),
})
export type ExportRecord = z.infer<typeof exportRecord>
