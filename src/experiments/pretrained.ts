/** Pretrained models, as plans name them. */
import {basename, dirname} from 'node:path'
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

/** The last name of a folder that says which model it is: packages call theirs `model`. */
export function modelName(folder: string): string {
  const own = basename(folder)
  return own === 'model' ? basename(dirname(folder)) : own
}
