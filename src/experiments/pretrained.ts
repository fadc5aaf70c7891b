/** Pretrained models, as plans name them. */
import {z} from 'zod'
import type {TransformersModel} from '../model/index.js'

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

/** What ran a model. */
export const engineFacts = z
  .object({
    name: z.literal('transformers').describe('Name of the engine.'),
    torch: z.string().describe('Version of PyTorch.'),
    transformers: z.string().describe('Version of Transformers.'),
    python: z.string().describe('Version of Python.'),
    device: z.string().describe('Device of PyTorch.'),
  })
  .optional()
  .describe('What ran the model; absent: the program itself.')
export const engineBackend = z
  .string()
  .describe('Backend that computed; `torch` where Transformers ran the model.')

/** What records say of a model that Transformers runs. */
export function transformersFacts(
  {packages, python, device}: TransformersModel['engine'],
  threads: number,
) {
  const computed = {backend: 'torch', instruction_set: null, threads}
  return {...computed, engine: {name: 'transformers' as const, ...packages, python, device}}
}

/** Numbers of layers. */
export const layerNumbers = z.array(z.number().int().nonnegative())
