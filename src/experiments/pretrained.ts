/** Pretrained models, as plans name them. */
import {z} from 'zod'

/** SHA-256 of a file, or of several. */
export const digest = z
  .string()
  .describe('SHA-256 of its bytes: a run is not resumed with another one.')

/** A folder, pinned to what it holds. */
export const pretrainedModel = z
  .object({
    folder: z.string().describe('Folder as Hugging Face writes it.'),
    digest,
  })
  .describe('The pretrained model.')
export type PretrainedModel = z.infer<typeof pretrainedModel>

/** Numbers of layers. */
export const layerNumbers = z.array(z.number().int().nonnegative())
