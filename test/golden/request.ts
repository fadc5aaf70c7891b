/** What a stored case asks of this library, as `fixtures/golden/manifest.json` writes it. */
import {z} from 'zod'
import {METHOD_NAMES, PRESET_NAMES, PROJECTION_NAMES} from '../../src/attention/names.js'

/** Names of this library's arrays, each with the array of the case that it is. */
const arrayNames = z.record(z.string(), z.string())

const attention = z.strictObject({
  kind: z.literal('attention'),
  /** Methods whose output is the stored one, each. */
  methods: z.array(z.enum(METHOD_NAMES)).min(1).readonly(),
  preset: z.enum(PRESET_NAMES).default('exact'),
  options: z
    .record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.null()]))
    .default({}),
  /** Proposals, landmarks and the like; a projection brings its own number. */
  num_features: z.int().positive().optional(),
  noise: arrayNames.default({}),
  parameters: arrayNames.default({}),
  /** Forget gates `[B, H, S]`. */
  gate: z.string().optional(),
  /** Index of the key that each query drew, where that is all that is known of the uniforms. */
  drawn_keys: z.string().optional(),
  /** How `phi_q` and `phi_k` differ from the features of these options. */
  features: z
    .strictObject({
      stabilizer: z.string().optional(),
      /** Added inside the exponential, where it cancels from the output. */
      exponent: z.number().optional(),
    })
    .default({}),
})

const projection = z.strictObject({
  kind: z.literal('projection'),
  projection: z.enum(PROJECTION_NAMES),
})

const kernel = z.strictObject({
  kind: z.literal('gaussian-kernel'),
  projection: z.enum(['simplex', 'simplex-plus']),
})

export const goldenRequest = z.discriminatedUnion('kind', [attention, projection, kernel])

/** As it is written: defaults may be left out. */
export type WrittenRequest = z.input<typeof goldenRequest>
export type GoldenRequest = z.output<typeof goldenRequest>
export type AttentionRequest = z.output<typeof attention>
