/** What queries and keys are like, head by head: plan, cell and result. */
import {z} from 'zod'
import {inputSpec, inputStatistics} from '../../inputs/spec.js'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  seed,
} from '../../results/record.js'
import {
  causalAlignField,
  causalField,
  layerAxis,
  layerFiles,
  layerPoint,
  logitScale,
  sizeFields,
} from '../axes.js'

const shared = {
  input: inputSpec.describe('Where queries and keys come from.'),
  logit_scale: logitScale,
  causal: causalField,
  causal_align: causalAlignField,
  seed,
  backend: backendChoice,
}
const {batch, heads, head_dim} = sizeFields

/** Everything that determines a look at an input. */
export const inputsPlan = z.object({
  experiment: z.literal('inputs').describe('Name of the experiment.'),
  layers: layerAxis,
  layer_files: layerFiles,
  ...shared,
})
export type InputsPlan = z.infer<typeof inputsPlan>

/** One layer, all heads. */
export const inputsCell = z.object({layer: layerPoint, ...shared})
export type InputsCell = z.infer<typeof inputsCell>

export const inputsResult = z.object({
  ...{batch, heads, head_dim},
  ...computedBy,
  query_len: z.int().describe('L, queries.'),
  key_len: z.int().describe('S, keys.'),
  logit_scale: z.number().describe('beta: logits are beta q.k.'),
  per_head: z
    .array(
      z.object({
        head: z.int().describe('Index of the head, from 0.'),
        statistics: inputStatistics.describe('Norms and entropy, means over all pairs in view.'),
        attended_sum_norm2: nullableNumber
          .default(null)
          .describe(
            '|x+y|^2 that 95 % of the attention of the head does not exceed: its exponential is the M from which on a kernel entry of positive features has less noise than value there; `null` in records that were made without.',
          ),
        angle_deg: nullableNumber.meta({
          unit: 'degrees',
          description:
            'Angle with the cosine E[x.y] / sqrt(E|x|^2 E|y|^2); 90: unrelated; `null`: queries or keys are zero.',
        }),
      }),
    )
    .describe('Norms, angles and entropy of each head.'),
})
export type InputsResult = z.infer<typeof inputsResult>
export type InputsRecord = CellRecord<InputsCell, InputsResult>
export type CompletedInputs = Completed<InputsCell, InputsResult>
