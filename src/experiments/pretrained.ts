/** Pretrained models, as plans name them. */
import {z} from 'zod'
import type {TransformersModel} from '../model/index.js'

/** SHA-256 of a file, or of several. */
export const digest = z
  .string()
  .describe('SHA-256 of its bytes: a run is not resumed with another one.')

/** A folder, pinned to what it holds. */
export const pretrainedModel = z
  .object({folder: z.string().describe('Folder as Hugging Face writes it.'), digest})
  .describe('The pretrained model.')
export type PretrainedModel = z.infer<typeof pretrainedModel>

const ENGINE =
  'What runs the model in place of this program: `transformers`, PyTorch and Transformers in Python, whatever `backend` says; absent: the program itself.'
const count = z.int().positive()

/** What runs the model of a plan, with sizes that the program does not read itself. */
export const engineOfPlan = z
  .object({
    name: z.literal('transformers').describe('Name of the engine.'),
    layers: count.describe('Layers of the model.'),
    heads: count.describe('H, heads of queries.'),
    head_dim: count.describe('D, entries of a query or key.'),
    width: count.describe('Entries of a hidden state.'),
    vocabulary: z.int().nonnegative().describe('Tokens that the model knows; 0: it reads none.'),
    parameters: count.describe('Weights of the model.'),
  })
  .optional()
  .describe(`${ENGINE} With sizes of the model as it says them.`)
type PlannedEngine = NonNullable<z.infer<typeof engineOfPlan>>

export const engineOfCell = z.literal('transformers').optional().describe(ENGINE)

export const device = z
  .enum(['cuda', 'mps'])
  .optional()
  .describe('What PyTorch computes on, where Transformers runs the model; absent: the processor.')

/** Widths between the matrices of a feed-forward part, as models have them. */
const INNER = 4

/** Sizes of a model that is not read here, about. */
export function statedSizes(engine: PlannedEngine, causal: boolean) {
  const {layers, heads, head_dim: headDim, width, vocabulary, parameters} = engine
  const table = Math.min(vocabulary * width, parameters / 2)
  return {
    facts: {layers, causal, vocabulary, width, heads, headDim},
    sizes: {layer: (parameters - table) / layers, head: table, inner: INNER * width},
  }
}

/** PyTorch with Transformers, and all weights at once, in bytes. @param models - how many of that size. Default: one */
export function pythonBytes(engine: PlannedEngine | undefined, models = 1): number {
  return engine ? 7e8 + 4 * models * engine.parameters : 0
}

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

export function transformersFacts(
  {packages, python, device}: TransformersModel['engine'],
  threads: number,
) {
  const computed = {backend: 'torch', instruction_set: null, threads}
  return {...computed, engine: {name: 'transformers' as const, ...packages, python, device}}
}

export const layerNumbers = z.array(z.int().nonnegative())
