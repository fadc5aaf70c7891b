/** The request of `rfa apply`, and the record of what it did. */
import {z} from 'zod'
import {
  type CausalAlign,
  ORTH_SIGNS,
  type OrthSign,
  type PresetName,
  type ProjectionName,
} from '../attention/names.js'
import type {BackendChoice} from '../backends/index.js'
import {causalAlignField, causalField} from '../experiments/axes.js'
import type {LayerChoice} from '../inputs/layers.js'
import {LAYOUTS} from '../inputs/layout.js'
import type {InputSpec} from '../inputs/spec.js'
import {type PluginRecord, pluginRecord} from '../plugins/record.js'
import {computedBy, nullableNumber, operationForms} from '../results/record.js'
import {type TunedSpec, tunedSpec} from '../tuned/index.js'

export interface ApplyRequest {
  input: InputSpec
  /** Which layers of a file of several. Default: the arrays of no layer, or all layers where there are none. */
  layers?: LayerChoice | undefined
  /** `.npz`, `.npy` or `.safetensors`. */
  output: string
  /** Replace an existing output, unless it is an input. */
  force: boolean
  method: string
  preset: PresetName
  options: Record<string, string | number | boolean>
  /** Learned parameters, of which the first draw is taken. Default: none */
  tuned?: TunedSpec | undefined
  /** `null`: what the file says, else not. */
  causal: boolean | null
  /** Which tokens fewer causal queries than keys are. */
  causalAlign?: CausalAlign | undefined
  numFeatures: number
  /** `null`: the method's own. A `projection` array in the file goes before it. */
  projection: ProjectionName | null
  orthSign: OrthSign
  seed: number
  /** beta; `null`: what the file says, else 1 / sqrt(D). */
  scale: number | null
  backend: BackendChoice
  /** Of the backend; its own choice where not given. */
  threads?: number | undefined
  /** The plug-in that the method comes from, if it is not built in. */
  origin?: PluginRecord | undefined
}

/** The same once the file was asked what the request leaves to it. */
export type SettledRequest = ApplyRequest & {causal: boolean}

/** Growth of rounding by which half of the 24 binary digits of float32 are lost. */
export const MOST_GROWTH = 2 ** 12

/** Name and version of {@link applyRecord}. */
export const APPLY_SCHEMA = 'rfa.apply/2'

const error = (description: string) => nullableNumber.describe(description)

/** How far an output is off exact attention. */
const appliedErrors = z.object({
  rel_l2: error('|out - exact| / |exact|, Euclidean, over all outputs.'),
  token_mean_rel_l2: error('The same of the means over the tokens of each head of each sequence.'),
  projected_rel_l2: error(
    '|W_O (out - exact)| / |W_O exact|; `null`: the file has no output projection `o`.',
  ),
  residual_error: error(
    'Root mean square over tokens of |W_O (out - exact)|, over that of the residual stream; `null`: the file has no `o` or no `residual_norm`.',
  ),
})
export type AppliedErrors = z.infer<typeof appliedErrors>

const appliedArray = z.object({
  name: z.string().describe('Its name in the output.'),
  layer: z
    .int()
    .nullable()
    .describe('Layer of a file with several, by number; `null`: the file has no numbered layers.'),
  shape: z.array(z.int()).describe('Its axes, in the layout.'),
  feature_dim: z.int().describe('F, length of phi; 0: no features.'),
  logit_scale: z.number().describe('beta: logits are beta q.k.'),
  hidden_keys: z.int().describe('Number of keys that the key mask hides, over all sequences.'),
  projection: z
    .string()
    .nullable()
    .describe(
      'Source of the random vectors: `learned`, `from the file` or how they were drawn; `null`: none.',
    ),
  orth_sign: z
    .enum(ORTH_SIGNS)
    .nullable()
    .describe('Signs of the orthogonal factors; `null`: none, or a matrix from the file.'),
  used_extras: z
    .array(z.string())
    .describe('Arrays of the file that the method used in addition to q, k, v and the key mask.'),
  not_finite: z.int().describe('Entries that are not finite.'),
  ill_conditioned: z
    .int()
    .describe(
      `Entries more than ${MOST_GROWTH} times the largest value: denominators nearly cancel there.`,
    ),
  errors: appliedErrors
    .nullable()
    .describe(
      'Errors against softmax attention of the given q and k in double precision; `null` where that would take long, or the key mask leaves it no causal order.',
    ),
})

export type AppliedArray = z.infer<typeof appliedArray>

/** What was done; `--json` prints it. */
export const applyRecord = z.object({
  schema: z.literal(APPLY_SCHEMA).describe('Name and version of this format.'),
  output: z.string().describe('The file that was written.'),
  layout: z
    .enum(LAYOUTS)
    .describe('Order of axes, as in the input. bhld: B, H, L, Dv; blhd: B, L, H, Dv.'),
  causal: causalField,
  causal_align: causalAlignField,
  method: z.string().describe('The estimator.'),
  preset: z.string().describe('The release that it followed; `exact`: none.'),
  plugin: pluginRecord.nullable().describe('Plug-in that it comes from; `null`: built in.'),
  tuned: tunedSpec
    .nullable()
    .default(null)
    .describe('Learned parameters that it ran with; `null`: none.'),
  ...computedBy,
  operations: operationForms,
  arrays: z.array(appliedArray).min(1).describe('Outputs, one for each layer.'),
})
export type ApplyRecord = z.infer<typeof applyRecord>
