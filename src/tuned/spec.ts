/** Learned parameters as plans and cells name them. */
import {z} from 'zod'
import {PROJECTION_NAMES} from '../attention/names.js'

/** What a plan says of a file: what its cells follow from, without reading it. */
export const tunedSpec = z
  .object({
    path: z.string().describe('File of learned parameters, as rfa tune writes it.'),
    digest: z
      .string()
      .describe('SHA-256 of its bytes: a run is not resumed or merged with another one.'),
    projection: z
      .enum(PROJECTION_NAMES)
      .nullable()
      .describe('Random matrix that it was tuned with; `null`: the method draws none.'),
    num_features: z
      .int()
      .positive()
      .nullable()
      .describe('M that it was tuned with; `null`: the method has none.'),
    draws: z
      .int()
      .positive()
      .nullable()
      .describe(
        'Draws with learned random vectors: replicate r takes draw r; `null`: they are drawn.',
      ),
  })
  .describe('Learned parameters of the method.')
export type TunedSpec = z.infer<typeof tunedSpec>
